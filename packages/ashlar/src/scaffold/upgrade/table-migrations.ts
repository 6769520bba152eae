import { codeOf } from "../files/existing-files.ts";
import type { NewFile } from "../files/files.ts";
import { readStub, type StubValues } from "../files/stub.ts";
import { migrationCodes, migrationPaths, migrationsMention } from "../making/make.ts";

/** A part of a table that an earlier version's migration created in a different form. */
interface TableChange {
  readonly name: string;
  readonly table: string;
  /** A text in the table's migrations if the table has the current form. */
  readonly brings: string;
}

const CHANGES: readonly TableChange[] = [
  { name: "add_guard_to_password_resets", table: "password_resets", brings: "guard" },
  { name: "add_reserved_until_to_email_changes", table: "email_changes", brings: "reserved_until" },
  { name: "add_methods_to_logins", table: "logins", brings: "methods" },
];

/** The names of guards in `config/auth.ts`, as far as the text contains them. */
const NOT_GUARDS = ["default", "passwordResetTable", "passwordResetExpiration", "steps"];

/**
 * Returns the migrations that convert the framework's tables, including their rows, from an earlier form to the current
 * one, dated after the application's migrations.
 *
 * @param root the application's folder, in which all other migrations are complete
 * @param had the application's migrations before they were completed
 */
export async function tableMigrations(root: string, had: ReadonlyMap<string, string>): Promise<NewFile[]> {
  const names: string[] = [];
  const created = (table: string): string[] => {
    const own = new RegExp(`createTable\\((["'\`])${table}\\1\\)`);
    return [...had.values()].filter((text) => own.test(text));
  };
  const mentions = (table: string, word: string): boolean => {
    const about = [...had.values()].filter((text) => text.includes(table));
    return about.some((text) => new RegExp(`(["'\`])${word}\\1`).test(text));
  };
  for (const { name, table, brings } of CHANGES) {
    if (created(table).length > 0 && !mentions(table, brings)) names.push(name);
  }
  const isMoved = [...had.values()].some((text) => /(["'`])logins\1/.test(text));
  if (created("sessions").length > 0 && !isMoved && migrationsMention(await migrationCodes(root), "logins")) {
    names.push("move_sessions_to_logins");
  }
  const values = await valuesOf(root, mentions("sessions", "access_epoch") && created("sessions").length > 0);
  const paths = await migrationPaths(root, names);
  return await Promise.all(
    names.map(async (name, index) => ({ path: paths[index]!, text: await readStub(`upgrade/${name}.ts`, values) })),
  );
}

async function valuesOf(root: string, hasEpoch: boolean): Promise<StubValues> {
  const text = (await codeOf(root, "config/auth.ts")) || (await codeOf(root, "config/auth.js"));
  const [, body = ""] = /\bGUARDS\b[^{]*\{([\s\S]*?)\n\}/.exec(text) ?? [];
  const found = [...body.matchAll(/^\s{1,4}(?:(\w+)|["']([\w-]+)["'])\s*:\s*\{/gm)].map(
    ([, one, other]) => one ?? other!,
  );
  const guards = found.filter((name) => !NOT_GUARDS.includes(name) && name !== "jwt");
  const names = guards.length === 0 ? ["web"] : guards;
  const [, preset] = /\bdefault\s*:\s*["'](\w+)["']/.exec(body) ?? [];
  return {
    guards: names.map((name) => JSON.stringify(name)).join(", "),
    guard: preset ?? names[0]!,
    table: "users",
    epochColumn: "access_epoch",
    epoch: hasEpoch ? "sessions.access_epoch" : "users.access_epoch",
  };
}
