import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { MARIADB } from "../support/mariadb-databases.ts";
import { POSTGRES } from "../support/postgres-databases.ts";
import { processesOf, RUN_FOLDER } from "../support/run-processes.ts";
import { onMariadb, onPostgres } from "../support/services.ts";

const PACKAGE = join(import.meta.dirname, "../..");
const SUPPORT = join(PACKAGE, "test/support");
const VITEST = join(PACKAGE, "../../node_modules/vitest/vitest.mjs");

/**
 * A test that starts a process in a separate group, takes a database, creates another and an application folder, and
 * never ends.
 */
const HANGING = (server: "postgres" | "mariadb", administer: string): string => `
import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { makeApplicationFolder } from "${SUPPORT}/application-folder.ts";
import { KeptDatabases } from "${SUPPORT}/kept-databases.ts";
import { ${server}Server, ${administer} } from "${SUPPORT}/${server}-databases.ts";

test("hangs", async () => {
  const folder = process.env.${RUN_FOLDER};
  const created = "interrupted_" + process.pid;
  await ${administer}("create database " + created);
  const taken = await new KeptDatabases(${server}Server, folder).take("nothing");
  const application = await makeApplicationFolder();
  writeFileSync(join(application.folder, "app.ts"), "");
  const program = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)";
  const { pid } = spawn(process.execPath, ["--eval", program], { detached: true, stdio: "ignore" });
  const file = join(import.meta.dirname, "said.json");
  writeFileSync(file + ".part", JSON.stringify({ pid, databases: [created, taken.name], folder, application: application.folder }));
  renameSync(file + ".part", file);
  await new Promise(() => setInterval(() => {}, 1e6));
}, 1e8);
`;

interface Said {
  readonly pid: number;
  readonly databases: readonly string[];
  readonly folder: string;
  readonly application: string;
}

/** Runs {@link HANGING} until it hangs, sends the run a signal, and expects that nothing is left of it. */
async function interrupt(signal: NodeJS.Signals, test: string, connect: (database: string) => Promise<void>) {
  const root = mkdtempSync(join(PACKAGE, ".generated-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, "hanging.test.ts"), test);
  const settings = { globalSetup: [join(SUPPORT, "run-folder.ts")], include: ["hanging.test.ts"] };
  writeFileSync(join(root, "vitest.config.ts"), `export default ${JSON.stringify({ test: settings })};`);
  const env = { ...process.env };
  delete env[RUN_FOLDER];
  const child = spawn(process.execPath, [VITEST, "run", "--root", root], { env, stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  const file = join(root, "said.json");
  await expect.poll(() => existsSync(file)).toBe(true);
  const { pid, databases, folder, application } = JSON.parse(readFileSync(file, "utf8")) as Said;
  for (const database of databases) await connect(database);
  expect(processesOf(folder)).toContain(pid);
  expect(existsSync(application)).toBe(true);
  child.kill(signal);
  await expect.poll(() => existsSync(folder)).toBe(false);
  expect(processesOf(folder)).toEqual([]);
  expect(existsSync(application)).toBe(false);
  for (const database of databases) await expect(connect(database)).rejects.toThrow(database);
}

await onPostgres("an interrupted run", () => {
  test.for(["SIGINT", "SIGKILL"] as const)(
    "leaves no process and no database of PostgreSQL after %s",
    async (signal) => {
      await interrupt(signal, HANGING("postgres", "administer"), async (database) => {
        const client = new pg.Client({ ...POSTGRES, database });
        await client.connect();
        await client.end();
      });
    },
  );
});

await onMariadb("an interrupted run", () => {
  test("leaves no process and no database of MariaDB", async () => {
    await interrupt("SIGTERM", HANGING("mariadb", "administerMariadb"), async (database) => {
      await (await createConnection({ ...MARIADB, database })).end();
    });
  });
});
