import { isAbsolute, join, normalize, sep } from "node:path";
import type { PublishedFiles } from "../../boot/index.ts";
import { AshlarError } from "../../support/index.ts";
import { adding, missingLines } from "../edits/adding.ts";
import { Code } from "../edits/code.ts";
import { codeOf, javaScriptOf, readIfThere } from "../files/existing-files.ts";
import { type NewFile, replaceFile, writeNewFile } from "../files/files.ts";
import { hasMigration, migrationPaths } from "../making/make.ts";
import type { Installation } from "./install.ts";
import { applySteps, type Step, type StepResult } from "./steps.ts";

const MIGRATION_NAME = /^[a-z][a-z\d]*(?:_[a-z\d]+)*$/;
/**
 * Folders to which no files are published, because Git runs some of the files in one, and a package manager replaces
 * those in the other.
 */
const FOREIGN_FOLDERS = [".git", "node_modules"];

/**
 * Plans the files that a feature adds to an application, without writing anything. Omits files and migrations that
 * already exist.
 *
 * @param root the application's folder
 * @throws `E_COMMAND` if there is no application, a path leads out of it or into `.git` or `node_modules`, or the name of
 *   a migration is malformed
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
  const { changed, remaining } = await applied(root, steps);
  return {
    files: [
      ...missing.map((file) => ({ ...file, before: null, isInTheWay: false })),
      ...[...changed].map(([path, { before, after }]) => ({ path, text: after, before, isInTheWay: false })),
    ],
    environment: null,
    remaining,
  };
}

/**
 * Applies a feature's steps that haven't been done yet, if the files' code allows it. A missing `.env` is created from
 * its example, so it needs no steps.
 */
async function applied(root: string, steps: NonNullable<PublishedFiles["steps"]>): Promise<StepResult> {
  const left: Step[] = [];
  for (const { file, done, lines, adds } of steps) {
    if (done.test(await codeOf(root, (await javaScriptOf(root, file)) ?? file))) continue;
    if (adds === undefined) left.push({ file, lines, rewrite: () => null });
    else left.push({ file, lines, edit: adding(adds), linesIn: (text, name) => linesFor(text, name, lines) });
  }
  return await applySteps(root, left);
}

async function linesFor(text: string, file: string, lines: readonly string[]): Promise<readonly string[]> {
  try {
    return missingLines(await Code.of(text, file), lines);
  } catch (error) {
    if (error instanceof SyntaxError) return lines;
    throw error;
  }
}

/** Writes planned files. Skips files that were created or changed in the meantime. */
export async function writePublication(root: string, { files }: Installation): Promise<void> {
  for (const file of files) {
    if (file.before === null) await writeNewFile(root, file);
    else if ((await readIfThere(root, file.path)) === file.before) await replaceFile(join(root, file.path), file.text);
  }
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
  const folders = normalize(path).split(sep);
  const [first] = folders;
  const example = "such as config/stock.ts.";
  if (path === "" || isAbsolute(path) || first === ".." || first === "." || path.endsWith("/")) {
    throw new AshlarError("E_COMMAND", `"${path}" is not the path of a file in the application, ${example}`);
  }
  // Some file systems ignore case, and Windows ignores dots and spaces at the end of a name.
  const foreign = folders.find((folder) => FOREIGN_FOLDERS.includes(folder.toLowerCase().replace(/[. ]+$/, "")));
  if (foreign === undefined) return;
  throw new AshlarError("E_COMMAND", `"${path}" is in ${foreign}. Publish to a path of the application, ${example}`);
}
