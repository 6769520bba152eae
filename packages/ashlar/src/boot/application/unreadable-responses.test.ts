import { expect, test } from "vitest";
import { CorsMiddleware } from "../../http/index.ts";
import { HttpKernel, type MiddlewareEntry } from "../../kernel/index.ts";
import { createLogger } from "../log/create-logger.ts";
import { createApplication } from "./create-application.ts";

async function warnings(httpMiddleware: readonly MiddlewareEntry[], origins: string): Promise<string[]> {
  class Kernel extends HttpKernel {
    override httpMiddleware = httpMiddleware;
    override routeMiddleware = { web: [] };
  }
  const lines: string[] = [];
  const settings = { name: "x", environment: "test", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, { write: (line) => void lines.push(String(JSON.parse(line).msg)) });
  const environment = { APP_ENV: "test", TRUSTED_ORIGINS: origins };
  await (await createApplication({ routes: [], kernel: Kernel, logger, environment })).shutdown();
  return lines;
}

test("an origin that is trusted, but can't read responses, is a warning at boot", async () => {
  class Own extends CorsMiddleware {}
  expect(await warnings([], "http://localhost:5173")).toEqual([
    "Pages of http://localhost:5173, one of APP.trustedOrigins, can't read responses: the kernel lacks CorsMiddleware. In " +
      'app/kernel.ts, import it from "ashlar", and put it first in httpMiddleware: [CorsMiddleware, IpMiddleware].',
  ]);
  expect(await warnings([CorsMiddleware], "http://localhost:5173")).toEqual([]);
  expect(await warnings([Own], "http://localhost:5173")).toEqual([]);
  expect(await warnings([], "")).toEqual([]);
});
