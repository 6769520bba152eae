// A process that kills itself with SIGKILL once it has handled LOST requests, before it responds to any of them.
import type { MiddlewareEntry } from "../../src/kernel/index.ts";
import { killableApplication } from "./killable-application.ts";

const { DATABASES = "", SECRETS = "", LOST = "" } = process.env;

let left = Number(LOST);

const killing: MiddlewareEntry = async (_context: unknown, next: () => unknown) => {
  await next();
  if (--left === 0) process.kill(process.pid, "SIGKILL");
  // Nothing may respond before the signal arrives.
  return new Promise<never>(() => {});
};

const application = await killableApplication(JSON.parse(DATABASES), JSON.parse(SECRETS), [killing]);
const server = await application.listen({ port: 0, hostname: "127.0.0.1" });
process.send?.(server.url);
process.on("disconnect", () => process.exit());
