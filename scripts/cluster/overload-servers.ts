import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { COMMAND, ENVIRONMENT, linkPackage, until } from "./instances.ts";

/** How a server runs. */
export interface ServerKind {
  readonly framework: "ashlar" | "fastify";
  /** How many workers each instance has; `0` for a single process without workers. */
  readonly workers: number;
}

/** A running instance. */
export interface RunningServer {
  readonly port: number;
  readonly logFile: string;
  stop(): Promise<void>;
}

/** How many database connections each process has, and how long each of the two statements of `/database` takes. */
export const POOL_SIZE = 10;
export const STATEMENT = "select pg_sleep(0.01)";

const ASHLAR = `
import { createApplication, env, HttpKernel, Route } from "ashlar";
import { DatabaseProvider, sql } from "ashlar/database";

const WORDS = "<!doctype html><title>Shop</title><h1>Hello</h1>";

function spin(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

class Kernel extends HttpKernel {
  routeMiddleware = { web: [], api: [] };
}

const application = await createApplication({
  root: import.meta.dirname,
  kernel: Kernel,
  providers: [DatabaseProvider],
  config: {
    database: {
      DATABASES: { default: "main", main: { driver: "postgres", url: env("DATABASE_URL"), poolSize: ${POOL_SIZE} } },
    },
  },
  routes: [
    Route.get("/busy/@ms:int", ({ request, response }) => {
      spin(Number(request.param("ms")));
      return response.html(WORDS);
    }),
    Route.get("/database", async ({ response }) => {
      const { kysely } = application.container.make("database");
      for (let count = 0; count < 2; count++) await sql\`${STATEMENT}\`.execute(kysely);
      return response.html(WORDS);
    }),
  ],
});
export default application;
`;

/** Writes the application into a folder. */
export function overloadedApplication(folder: string): void {
  mkdirSync(folder);
  linkPackage(folder);
  writeFileSync(join(folder, "app.ts"), ASHLAR);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
}

const FASTIFY = join(import.meta.dirname, "overload-fastify.ts");

/** Starts an instance on the first processor, and waits until it responds. */
export async function startServer(
  { framework, workers }: ServerKind,
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<RunningServer> {
  const port = await freePort();
  const logFile = join(folder, `${port}.log`);
  const serve = ["serve", ...(workers === 0 ? [] : ["--workers", String(workers)]), "--port", String(port)];
  const args = framework === "ashlar" ? [COMMAND, ...serve] : [FASTIFY];
  const output = openSync(logFile, "a");
  const child = spawn("taskset", ["-c", "0", process.execPath, ...args], {
    cwd: folder,
    env: { ...process.env, ...ENVIRONMENT, ...env, PORT: String(port), WORKERS: String(workers) },
    stdio: ["ignore", output, output],
  });
  await until(
    () => isUp(port),
    () => `see ${logFile}`,
  );
  return { port, logFile, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

async function isUp(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/up`).then(
    ({ ok }) => ok,
    () => false,
  );
}
