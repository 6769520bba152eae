import { expect, onTestFinished, test } from "vitest";
import { sql } from "../../src/database/index.ts";
import { COMMAND, execute } from "../support/generated-application.ts";
import { onPostgres, postgres } from "../support/services.ts";
import { folderWith } from "../support/temporary-folder.ts";

const INSTANCES = 4;
const NAMES = ["2026_01_01_000000_make_a", "2026_01_02_000000_make_b", "2026_01_03_000000_make_c"];

/** A configuration file that records each process that reads it. */
const configuration = (main: object): string => `
import { writeFileSync } from "node:fs";
import { join } from "node:path";
writeFileSync(join(import.meta.dirname, process.pid + ".begun"), "");
export const DATABASES = { default: "main", main: ${JSON.stringify(main)} };
`;

/** A migration that waits until all processes have started, and would fail if it ran twice. */
const migration = (name: string): string => `
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

export async function up(database) {
  const folder = join(import.meta.dirname, "../../config");
  while (readdirSync(folder).filter((file) => file.endsWith(".begun")).length < ${INSTANCES}) await setTimeout(5);
  await database.schema.createTable("table_${name.at(-1)}").addColumn("n", "integer").execute();
}
`;

await onPostgres("ashlar migrate", () => {
  test("S67 of four instances deployed at once, one migrates, and the others wait and find nothing to do", async () => {
    const own = await postgres.open();
    onTestFinished(() => own.drop());
    const root = folderWith({
      "package.json": '{ "type": "module" }',
      "config/database.ts": configuration(own.configuration),
      ...Object.fromEntries(NAMES.map((name) => [`database/migrations/${name}.ts`, migration(name)])),
    });
    const runs = await Promise.all(
      Array.from({ length: INSTANCES }, () => execute(root, process.execPath, [COMMAND, "migrate"])),
    );
    expect(runs.map(({ code, output }) => [code, output]).sort()).toEqual([
      [0, NAMES.map((name) => `Migrated ${name}\n`).join("")],
      ...Array.from({ length: INSTANCES - 1 }, () => [0, "Nothing to migrate.\n"]),
    ]);
    const { rows } = await sql`select name from migrations order by name`.execute(own.database.kysely);
    expect(rows).toEqual(NAMES.map((name) => ({ name })));
  });
});
