import { isAbsolute, normalize, sep } from "node:path";
import type { PublishedFiles } from "../boot/index.ts";
import { AshlarError } from "../support/index.ts";
import { type NewFile, writeNewFile } from "./files.ts";
import type { Installation } from "./install.ts";
import { hasMigration, migrationPaths } from "./make.ts";
import { javaScriptOf, readIfThere, remainingSteps } from "./remaining-steps.ts";

const MIGRATION_NAME = /^[a-z][a-z\d]*(?:_[a-z\d]+)*$/;

/**
 * Plans the files that a feature adds to an application, without writing anything. Files and migrations that exist are
 * left out.
 *
 * @param root the application's folder
 * @throws `E_COMMAND` if there is no application, a path leads out of it, or the name of a migration is malformed
 */
export async function planPublication(
  root: string,
  { files = {}, migrations = {}, steps = [] }: PublishedFiles,
): Promise<Installation> {
  if ((await readIfThere(root, "package.json")) === null) {
    throw new AshlarError(
      "E_COMMAND",
      `There is no application in ${root}. Run the command in the application's folder.`,
    );
  }
  const missing: NewFile[] = [];
  for (const [path, text] of Object.entries(files)) {
    requireInside(path);
    const isThere = (await readIfThere(root, path)) !== null || (await javaScriptOf(root, path)) !== null;
    if (!isThere) missing.push({ path, text });
  }
  missing.push(...(await missingMigrations(root, migrations)));
  return {
    files: missing.map((file) => ({ ...file, before: null, isInTheWay: false })),
    environment: null,
    remaining: await remainingSteps(root, steps),
  };
}

/** Writes planned files. One that has been created in the meantime stays as it is. */
export async function writePublication(root: string, { files }: Installation): Promise<void> {
  for (const file of files) await writeNewFile(root, file);
}

async function missingMigrations(root: string, migrations: Readonly<Record<string, string>>): Promise<NewFile[]> {
  const names: string[] = [];
  for (const name of Object.keys(migrations)) {
    if (!MIGRATION_NAME.test(name)) {
      throw new AshlarError("E_COMMAND", `"${name}" is not the name of a migration. Write it like create_orders.`);
    }
    if (!(await hasMigration(root, name))) names.push(name);
  }
  const paths = await migrationPaths(root, names);
  return names.map((name, index) => ({ path: paths[index]!, text: migrations[name]! }));
}

function requireInside(path: string): void {
  const [first] = normalize(path).split(sep);
  if (path !== "" && !isAbsolute(path) && first !== ".." && first !== "." && !path.endsWith("/")) return;
  throw new AshlarError(
    "E_COMMAND",
    `"${path}" is not the path of a file in the application, such as config/stock.ts.`,
  );
}
