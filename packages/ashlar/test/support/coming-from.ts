import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import type { KernelClass } from "../../src/kernel/index.ts";
import { argon2id } from "../../src/security/index.ts";
import { createTestClient } from "../../src/testing/index.ts";
import { COMMAND, checkTypes, execute, generateApplication } from "./generated-application.ts";
import { followPage } from "./page-files.ts";
import { POSTGRES } from "./postgres-databases.ts";
import { markdownSamples } from "./samples.ts";

/** The folder with the dumps. */
export const DUMPS: string = join(import.meta.dirname, "../documentation/coming-from");
const SHARED = "docs/coming-from/index.md";

/** A new application with the files from `docs/coming-from/index.md` and one of the pages next to it. */
export interface NewHome {
  readonly root: string;
  /** Runs one of its scripts, or a command, with the application's database. */
  readonly run: (...args: readonly string[]) => Promise<{ code: number | null; output: string }>;
  /**
   * Boots it in this process, with the real hasher.
   *
   * @param imported the text that the imported hashes begin with
   */
  readonly boot: (imported?: string) => Promise<Application>;
  readonly remove: () => Promise<void>;
}

/**
 * Generates an application and follows the pages as a reader would. Afterwards it has the column, the model, the step,
 * the import script and an empty database. `/members` is for verified users.
 *
 * @param page the page about the framework that the users come from
 * @param environment variables for its database; default: its own SQLite file
 * @param prepare makes the page's other changes, before the migrations run
 */
export async function newHome(
  page: string,
  environment: Readonly<Record<string, string>> = {},
  prepare: (root: string) => Promise<void> = async () => undefined,
): Promise<NewHome> {
  const { root, remove } = await generateApplication({});
  await followPage(root, SHARED);
  await followPage(root, page);
  const migration = (await markdownSamples(SHARED)).find(({ code }) => code.includes('addColumn("disabled_at"'));
  const made = await execute(root, process.execPath, [COMMAND, "make:migration", "add_disabled_at_to_users"]);
  const [path] = /database\/migrations\/\w+\.ts/.exec(made.output) ?? [];
  await writeFile(join(root, path!), migration!.code);
  const config = join(root, "config/auth.ts");
  const text = await readFile(config, "utf8");
  expect(text).toContain("// steps: [terms],");
  const step = 'import { disabled } from "../app/steps/disabled.ts";\n';
  await writeFile(config, step + text.replace("// steps: [terms],", "steps: [disabled],"));
  const routes = join(root, "routes/web.ts");
  const welcome = 'Route.view("/", "welcome").name("welcome"),';
  const members = 'Route.get("/members", () => "For verified users.").middleware("verified"),';
  const web = await readFile(routes, "utf8");
  expect(web).toContain(welcome);
  await writeFile(routes, web.replace(welcome, `${welcome}\n  ${members}`));
  await prepare(root);
  await checkTypes(root);
  const env = { DATABASE_PATH: join(root, "database/app.sqlite"), ...environment };
  const run: NewHome["run"] = async (...args) => {
    const { code, output } = await execute(root, process.execPath, args, env);
    // Development mode would warn about the import's long transaction on a busy machine.
    return { code, output: output.replaceAll(/^.*A transaction has been open for more than.*\n/gm, "") };
  };
  expect(await run(COMMAND, "migrate")).toMatchObject({ code: 0 });
  return {
    root,
    run,
    remove,
    async boot(imported) {
      const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: KernelClass };
      const { createApplication } = await import("../../src/boot/index.ts");
      return await createApplication({
        root,
        kernel: Kernel,
        environment: { APP_ENV: "test", ...env },
        config: { auth: { PASSWORDS: { hasher: argon2id({ imported: imported ?? null }) } } },
      });
    },
  };
}

/** The variables that make an application use a database on the test server. */
export function postgresEnvironment(database: string): Record<string, string> {
  const { host, port, user, password } = POSTGRES;
  const url = new URL(`postgres://${host}:${port}/${database}`);
  url.username = String(user);
  url.password = String(password ?? "");
  return { DATABASE_CONNECTION: "postgres", DATABASE_URL: url.href };
}

/** The number of visitors so far: each comes from a separate address, with its own limits. */
let visitors = 0;

function visitor(application: Application) {
  return createTestClient(application, { address: `198.51.100.${++visitors}` });
}

/** Where a page for verified users leads after a login, or else the login page's message. */
export async function logIn(application: Application, email: string, password: string): Promise<string> {
  const client = visitor(application);
  const page = await client.follow(await client.submit(await client.get("/login"), { email, password }));
  const [, problem] = /id="\w+-error"[^>]*>\s*([^<]+?)\s*</.exec(page.text) ?? [];
  if (problem !== undefined) return problem;
  return new URL((await client.follow(await client.get("/members"))).url, application.url).pathname;
}

/** The status of the token endpoint. */
export async function tokenStatus(application: Application, username: string, password: string): Promise<number> {
  return (await visitor(application).postJson("/api/auth", { username, password })).status;
}

/** A column of all users, by id. */
export async function columnOf(application: Application, column: string): Promise<Record<string, unknown>> {
  const { kysely } = application.container.make("database");
  const rows = await kysely.selectFrom("users").selectAll().execute();
  return Object.fromEntries((rows as Record<string, unknown>[]).map((row) => [row.id, row[column]]));
}

/** The query in a page's command that exports users: the text in double quotes. */
export async function exportQuery(page: string, client: string): Promise<string> {
  const command = (await markdownSamples(page)).find(({ code }) => code.startsWith(`(umask 077; ${client}`));
  return /"(select .+)"/.exec(command?.code ?? "")![1]!;
}

/** Loads a dump of SQLite, runs a page's export on it, and writes the file that an import reads. */
export async function exportFromSqlite(root: string, dump: string, page: string, client: string): Promise<void> {
  const database = new DatabaseSync(":memory:");
  database.exec(await readFile(join(DUMPS, dump), "utf8"));
  const rows = database.prepare(await exportQuery(page, client)).all();
  await writeFile(join(root, "users.jsonl"), rows.map((row) => `${Object.values(row)[0]}\n`).join(""));
  database.close();
}
