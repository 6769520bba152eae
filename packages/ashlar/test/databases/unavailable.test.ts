import { expect, onTestFinished, test } from "vitest";
import { createApplication, createLogger } from "../../src/boot/index.ts";
import { DatabaseProvider, sql } from "../../src/database/index.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { onPostgres, postgres } from "../support/services.ts";

const JSON_ONLY = { accept: "application/json" };

await onPostgres("a database that is unavailable", () => {
  test.each([
    ["/gone", "ECONNREFUSED"],
    ["/slow", "57014"],
  ])("is a 503 with Retry-After, and the log has the cause: %s", async (path, cause) => {
    const own = await postgres.open();
    onTestFinished(() => own.drop());
    const lines: string[] = [];
    const application = await createApplication({
      providers: [DatabaseProvider],
      config: {
        database: {
          DATABASES: { default: "main", main: own.configuration, gone: { ...own.configuration, port: 1 } },
        },
      },
      routes: [
        Route.get("/gone", async () => {
          await sql`select 1`.execute(application.container.make("database").connection("gone").kysely);
        }),
        Route.get("/slow", async () => {
          const database = application.container.make("database");
          await database.transaction(async () => {
            // Only for this statement, because on a busy machine any other may take as long.
            await sql`set local statement_timeout = 20`.execute(database.kysely);
            await sql`select pg_sleep(10)`.execute(database.kysely);
          });
        }),
      ],
      environment: { APP_ENV: "production", APP_URL: "https://shop.example", APP_KEY: generateSecret() },
      logger: createLogger(
        { name: "test", environment: "production", log: { level: "warn", requests: false } } as never,
        { write: (line: string) => void lines.push(line) },
      ),
    });
    onTestFinished(() => application.shutdown());
    const response = await application.fetch(new Request(`https://shop.example${path}`, { headers: JSON_ONLY }));
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await response.json()).toMatchObject({ code: "E_DATABASE_UNAVAILABLE" });
    expect(lines.flatMap((line) => /ECONNREFUSED|57014/.exec(line)?.[0] ?? [])).toEqual([cause]);
  });
});
