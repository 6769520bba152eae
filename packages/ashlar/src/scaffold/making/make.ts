import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { tableName } from "../../database/index.ts";
import { currentDate } from "../../support/index.ts";
import { codeOf } from "../files/existing-files.ts";
import type { NewFile } from "../files/files.ts";
import { spell } from "../files/names.ts";
import { readStub, type StubValues } from "../files/stub.ts";

/** The folder with an application's migrations. */
const MIGRATIONS = "database/migrations";
const MODELS = "app/models";

/** The methods in a new controller: a single method, those of an API resource, or those of a resource with pages. */
export type ControllerKind = "plain" | "api" | "resource";

/** Strips a suffix that the command adds itself, so that `OrdersController` and `orders` mean the same. */
function withoutSuffix(name: string, suffix: string): string {
  const rest = name.replace(new RegExp(`[-_ ]?${suffix}$`, "i"), "");
  return rest === "" ? name : rest;
}

/** A controller: `app/controllers/orders-controller.ts`. */
export async function makeController(name: string, kind: ControllerKind): Promise<NewFile> {
  const names = spell(withoutSuffix(name, "controller"));
  const stub = kind === "plain" ? "make/controller.ts" : "make/controller-resource.ts";
  const text = await readStub(stub, {
    class: `${names.pascal}Controller`,
    resource: names.kebab,
    api: kind === "api",
    pages: kind === "resource",
  });
  return { path: `app/controllers/${names.kebab}-controller.ts`, text };
}

/** A model: `app/models/order-line.ts`, on table `order_lines`. */
export async function makeModel(name: string): Promise<NewFile> {
  const names = spell(name);
  const text = await readStub("make/model.ts", { class: names.pascal, table: tableName(names.pascal) });
  return { path: `app/models/${names.kebab}.ts`, text };
}

/** A middleware: `app/middleware/measure-middleware.ts`. */
export async function makeMiddleware(name: string): Promise<NewFile> {
  const names = spell(withoutSuffix(name, "middleware"));
  const title = names.kebab.replaceAll(
    /(^|-)([a-z])/g,
    (_, dash: string, letter: string) => dash + letter.toUpperCase(),
  );
  const text = await readStub("make/middleware.ts", { class: `${names.pascal}Middleware`, title });
  return { path: `app/middleware/${names.kebab}-middleware.ts`, text };
}

/** A provider: `app/providers/search-provider.ts`. */
export async function makeProvider(name: string): Promise<NewFile> {
  const names = spell(withoutSuffix(name, "provider"));
  const text = await readStub("make/provider.ts", { class: `${names.pascal}Provider`, name: names.kebab });
  return { path: `app/providers/${names.kebab}-provider.ts`, text };
}

/**
 * A migration: `database/migrations/2026_01_31_120000_create_orders.ts`.
 *
 * @param name `create_orders` creates a table; `add_total_to_orders` adds a column to one, `remove_total_from_orders`
 * removes it, `rename_sum_to_total_in_orders` starts to rename it, and `index_total_on_orders` creates its index; with
 * other names, the migration is empty
 * @param root the application's folder; the new migration is dated after the existing ones
 */
export async function makeMigration(name: string, root: string): Promise<NewFile> {
  const { snake } = spell(name);
  const text = await migrationText(snake.replace(/_table$/, ""));
  return { path: await migrationPath(root, snake), text };
}

async function migrationText(name: string): Promise<string> {
  const [, created] = /^create_(.+)$/.exec(name) ?? [];
  if (created !== undefined) return await readStub("make/migration-create.ts", { table: created });
  const [, indexed, on] = /^index_(.+?)_on_(.+)$/.exec(name) ?? /^add_(.+?)_index_to_(.+)$/.exec(name) ?? [];
  if (indexed !== undefined) return await readStub("make/migration-index.ts", { table: on!, column: indexed });
  const change = columnChange(name);
  return change === null ? await readStub("make/migration-empty.ts", {}) : await readStub("make/migration.ts", change);
}

/** The values for the stub that changes one column; `null` if the migration's name doesn't describe such a change. */
function columnChange(name: string): StubValues | null {
  const unchanged = { removes: false, renames: false, renamed: "" };
  const [, added, to] = /^add_(.+?)_to_(.+)$/.exec(name) ?? [];
  if (added !== undefined) return { ...unchanged, table: to!, column: added };
  const [, removed, from] = /^(?:remove|drop)_(.+?)_from_(.+)$/.exec(name) ?? [];
  if (removed !== undefined) return { ...unchanged, table: from!, column: removed, removes: true };
  const [, before, after, of] = /^rename_(.+?)_to_(.+?)_(?:in|on|of)_(.+)$/.exec(name) ?? [];
  return before === undefined ? null : { ...unchanged, table: of!, column: after!, renames: true, renamed: before };
}

/**
 * Returns the path of a new migration. The time in the name keeps migrations in order. If the last one has the current
 * second or a later time, the new migration is dated one second after it.
 *
 * @param root the application's folder
 * @param name the migration's name, in snake case
 */
export async function migrationPath(root: string, name: string): Promise<string> {
  const [path = ""] = await migrationPaths(root, [name]);
  return path;
}

/** Returns the paths of new migrations that run in this order; see {@link migrationPath}. */
export async function migrationPaths(root: string, names: readonly string[]): Promise<string[]> {
  const last = (await filesIn(root, MIGRATIONS)).map(timeOf).findLast((time) => time !== null) ?? null;
  const now = Math.floor(currentDate().getTime() / 1000) * 1000;
  const first = last === null ? now : Math.max(now, last + 1000);
  return names.map((name, index) => {
    const [date = "", clock = ""] = new Date(first + index * 1000).toISOString().split("T");
    return `${MIGRATIONS}/${date.replaceAll("-", "_")}_${clock.slice(0, 8).replaceAll(":", "")}_${name}.ts`;
  });
}

/** Reports whether the application has a migration with a name, whatever its date. */
export async function hasMigration(root: string, name: string): Promise<boolean> {
  const file = new RegExp(`^[\\d_]*${name}\\.[jt]s$`);
  return (await filesIn(root, MIGRATIONS)).some((one) => file.test(one));
}

/**
 * The texts of an application's migrations, without comments. They are read once for all of the following functions.
 */
export function migrationCodes(root: string): Promise<readonly string[]> {
  return codesIn(root, MIGRATIONS);
}

/** Reports whether a migration contains a name, such as a table's. */
export function migrationsMention(migrations: readonly string[], name: string): boolean {
  const quoted = new RegExp(`(["'\`])${name}\\1`);
  return migrations.some((code) => quoted.test(code));
}

/** Reports whether a migration calls a function. */
export function migrationsCall(migrations: readonly string[], name: string): boolean {
  const call = new RegExp(`\\b${name}\\(`);
  return migrations.some((code) => call.test(code));
}

/**
 * Reports whether a migration adds a column to a table, which is assumed if it names both. The usual columns of users
 * belong to no other table.
 */
export function migrationsAdd(migrations: readonly string[], table: string, column: string): boolean {
  if (table === "users" && ["api_token", "access_epoch", "blocked_at"].includes(column))
    return migrationsMention(migrations, column);
  const [own, its] = [column, table].map((name) => name.replaceAll(/\W/g, "\\$&"));
  const both = new RegExp(`^(?=[\\s\\S]*\\b${its}\\b)[\\s\\S]*(["'\`])${own}\\1`);
  return migrations.some((code) => both.test(code));
}

/** Reports whether an application has a users table, because a migration names it, even in SQL, or a model uses it. */
export async function hasUsersTable(root: string, migrations: readonly string[]): Promise<boolean> {
  if (migrations.some((code) => /\busers\b/i.test(code))) return true;
  if ((await filesIn(root, MODELS)).includes("user.ts")) return true;
  return (await codesIn(root, MODELS)).some((code) => /(["'`])users\1/.test(code));
}

async function codesIn(root: string, folder: string): Promise<string[]> {
  const files = (await filesIn(root, folder)).filter((file) => /\.[jt]s$/.test(file));
  return await Promise.all(files.map((file) => codeOf(root, `${folder}/${file}`)));
}

/** The time in a migration's name, in milliseconds since the epoch; `null` if there isn't one. */
function timeOf(file: string): number | null {
  const parts = /^(\d{4})_(\d\d)_(\d\d)_(\d\d)(\d\d)(\d\d)_/.exec(file)?.slice(1).map(Number);
  if (parts === undefined) return null;
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** The files in one of the application's folders, sorted by name; empty if the folder doesn't exist. */
async function filesIn(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return entries.toSorted();
}
