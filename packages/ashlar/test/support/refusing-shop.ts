import { onTestFinished } from "vitest";
import { type Application, createApplication, createLogger } from "../../src/boot/index.ts";
import { DatabaseProvider, sql } from "../../src/database/index.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { folderWith } from "./temporary-folder.ts";

/** An application for testing refusals by the database, and the lines that it logs. */
export interface Shop {
  readonly application: Application;
  readonly lines: Record<string, unknown>[];
}

/** How an application created by {@link shop} boots. */
interface ShopOptions {
  /** For how long it waits for its database. */
  readonly waitSeconds?: number;
  /** Where it logs to, even if it can't boot. */
  readonly lines?: Record<string, unknown>[];
}

/** An application whose error page uses the database too, like a layout that greets the user. */
export async function shop(main: object, { waitSeconds = 0, lines = [] }: ShopOptions = {}): Promise<Shop> {
  const query = (text: string) => sql.raw(text).execute(application.container.make("database").kysely);
  const application: Application = await createApplication({
    root: folderWith({}),
    providers: [DatabaseProvider],
    config: { app: { APP: { server: { waitSeconds } } }, database: { DATABASES: { default: "main", main } } },
    routes: [
      Route.get("/read", async () => (await query("select count(*) as n from notes")).rows),
      Route.get("/write", () => query("insert into notes values ('x')").then(() => "written")),
      Route.get("/fill", () => query(`insert into notes values ('${"x".repeat(100_000)}')`).then(() => "written")),
    ],
    environment: { APP_ENV: "production", APP_URL: "https://shop.example", APP_KEY: generateSecret() },
    logger: createLogger(
      { name: "test", environment: "production", log: { level: "warn", requests: false } } as never,
      {
        write: (line: string) => void lines.push(JSON.parse(line)),
      },
    ),
  });
  onTestFinished(() => application.shutdown());
  return { application, lines };
}

/**
 * The response's status, `Retry-After` and code, as JSON and as a page, and the log's lines with this code: one for
 * each episode.
 */
export async function refusal({ application, lines }: Shop, path: string): Promise<unknown> {
  const seen: unknown[] = [];
  let code: unknown;
  for (const accept of ["application/json", "text/html"]) {
    const request = new Request(`https://shop.example${path}`, { headers: { accept } });
    const response = await application.fetch(request, { address: "203.0.113.7" });
    const text = await response.text();
    if (accept === "application/json") ({ code } = JSON.parse(text) as { code?: unknown });
    seen.push([response.status, response.headers.get("retry-after"), accept === "text/html" || code]);
  }
  const logged = lines.filter((line) => line.code === code && "err" in line);
  const kinds = new Map(logged.map(({ level, msg }) => [`${level} ${msg}`, [level, code, String(msg).split(": ")[0]]]));
  return [seen, [...kinds.values()]];
}

/** What {@link refusal} returns for a failure with a name. */
export const named = (code: string): unknown => [
  [
    [503, "5", code],
    [503, "5", true],
  ],
  [["warn", code, "The request was refused"]],
];

/** The status of a response. */
export async function get({ application }: Shop, path: string): Promise<number> {
  return (await application.fetch(new Request(`https://shop.example${path}`), { address: "203.0.113.7" })).status;
}
