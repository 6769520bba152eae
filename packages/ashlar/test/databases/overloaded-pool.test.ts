import { expect, onTestFinished, test } from "vitest";
import { createApplication, createLogger } from "../../src/boot/index.ts";
import { DatabaseProvider, sql } from "../../src/database/index.ts";
import { Route } from "../../src/routing/index.ts";
import { rawSocket } from "../support/raw-socket.ts";
import { onEachDatabase } from "../support/services.ts";

const REQUESTS = 300;
const JSON_ONLY = { accept: "application/json" };

await onEachDatabase("a pool that more requests need than it can serve", (engine) => {
  test.skipIf(engine.name === "sqlite")(
    "S150 refuses requests before their first statement, with two log lines, and finishes running ones",
    async () => {
      const own = await engine.open();
      onTestFinished(() => own.drop());
      const lines: Record<string, unknown>[] = [];
      let [begun, finished, refusals] = [0, 0, 0];
      const wait = engine.name === "postgres" ? sql`select pg_sleep(0.01)` : sql`select sleep(0.01)`;
      const application = await createApplication({
        providers: [DatabaseProvider],
        config: {
          app: { APP: { server: { hostname: "127.0.0.1", maxQueueMs: 300 } } },
          database: { DATABASES: { default: "main", main: { ...own.configuration, poolSize: 2 } } },
        },
        routes: [
          Route.get("/", async () => {
            const { kysely } = application.container.make("database");
            await wait.execute(kysely);
            begun++;
            await wait.execute(kysely);
            finished++;
            return "done";
          }),
        ],
        environment: { APP_ENV: "test" },
        logger: createLogger({ name: "test", environment: "test", log: { level: "warn", requests: false } } as never, {
          write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>),
        }),
      });
      onTestFinished(() => application.shutdown());
      const { port } = await application.listen({ port: 0, handleSignals: false });
      const request = (accept: string) => `GET / HTTP/1.1\r\nHost: a\r\nAccept: ${accept}\r\nConnection: close\r\n\r\n`;
      const responses = await Promise.all(
        Array.from({ length: REQUESTS }, (_, index) => {
          return rawSocket(port, request(index % 2 === 0 ? "text/html" : JSON_ONLY.accept)).closed;
        }),
      );
      for (const response of responses) {
        if (response.startsWith("HTTP/1.1 200")) continue;
        refusals++;
        expect(response).toMatch(/^HTTP\/1\.1 503 [\s\S]*^retry-after: \d+\r$/im);
      }
      expect([refusals > 0, finished, begun]).toEqual([true, REQUESTS - refusals, REQUESTS - refusals]);
      expect(application.stats().errors).toEqual({ E_OVERLOADED: refusals });
      await application.shutdown();
      const told = lines.filter(({ msg }) => String(msg).includes("refused"));
      expect(told.length).toBeGreaterThan(0);
      // The listener may have refused some itself, which it logs separately.
      expect(told.length).toBeLessThanOrEqual(4);
      expect(told.some(({ connection }) => connection === "config/database.ts: DATABASES.main")).toBe(true);
      expect(lines.filter((line) => "err" in line)).toEqual([]);
    },
  );
});
