import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Argument, parseSync, Visitor } from "oxc-parser";
import { expect, test } from "vitest";

const SOURCE = join(import.meta.dirname, "../../src");
/** The folder of the store that keeps logins in the table. */
const OWNER = "auth/logins/database";
/** The table as a statement names it: alone, with a column, or with an alias. The doctor has findings of that name. */
const NAMED = /^["'`]?logins["'`]?(?:$|[\s.](?!long["'`]?$))/;
const IN_SQL =
  /^\s*(?:alter|delete|drop|insert|select|update|with)\b.*\b(?:from|into|join|table|update)\s+["'`]?logins\b/is;
/** Methods of the container, whose key `logins` holds the stores, and of routes, whose names can begin with it. */
const OTHER_NAMES = ["bind", "has", "make", "name"];

/**
 * Sources in which the word means something else: limits have the names of their routes, and exports have their own
 * names.
 */
const OTHER_LOGINS = ["auth/accounts/limits.ts", "auth/accounts/account-data.ts", "auth/commands/users-show.ts"];

/** Where a source outside of the store's folder refers to the table. */
function knowledgeIn(file: string, text: string): string[] {
  const found: string[] = [];
  const others = new Set<Argument>();
  const look = (said: string): void => {
    if (NAMED.test(said) || IN_SQL.test(said)) found.push(`${file}: ${said.trim()}`);
  };
  const imported = (from: string, names: readonly string[]): void => {
    if (!join(dirname(file), from).startsWith(`${OWNER}/`)) return;
    found.push(...names.filter((name) => name !== "databaseLogins").map((name) => `${file}: ${name}`));
  };
  new Visitor({
    CallExpression({ callee, arguments: [first] }) {
      const { property } = callee.type === "MemberExpression" ? callee : {};
      if (first && property?.type === "Identifier" && OTHER_NAMES.includes(property.name)) others.add(first);
    },
    // A key of an interface in a type.
    TSLiteralType: ({ literal }) => void others.add(literal as Argument),
    Literal: (node) => !others.has(node) && typeof node.value === "string" && look(node.value),
    TemplateElement: ({ value }) => look(value.raw),
    ImportDeclaration: ({ source, specifiers }) =>
      imported(
        source.value,
        specifiers.map(({ local }) => local.name),
      ),
    ExportNamedDeclaration: ({ source, specifiers }) =>
      source &&
      imported(
        source.value,
        specifiers.map(({ local }) => (local.type === "Literal" ? local.value : local.name)),
      ),
  }).visit(parseSync(file, text).program);
  return found;
}

test("only the store that keeps logins in a table refers to the table", () => {
  const sources = globSync("**/*.ts", { cwd: SOURCE })
    .map((file) => file.replaceAll("\\", "/"))
    .sort();
  const isExempt = (file: string) =>
    file.endsWith(".test.ts") || file.startsWith(`${OWNER}/`) || OTHER_LOGINS.includes(file);
  const others = sources.filter((file) => !isExempt(file));
  expect(others.flatMap((file) => knowledgeIn(file, readFileSync(join(SOURCE, file), "utf8")))).toEqual([
    // The manifest of the feature declares all its tables.
    "auth/feature.ts: LOGIN_TABLE",
    // This checks whether one of the application's migrations already creates the table.
    "scaffold/install/install-migrations.ts: logins",
    // The name of a controller, which was another one in earlier versions.
    "scaffold/upgrade/changes.ts: logins",
    // These check whether the application's migrations already bring the table of an earlier version to today's form, or move its
    // rows there.
    "scaffold/upgrade/table-migrations.ts: logins",
    "scaffold/upgrade/table-migrations.ts: logins",
  ]);
});

test.each([
  ['database.kysely.selectFrom("logins").selectAll();', "logins"],
  ['query.innerJoin("users", "users.id", "logins.user_id");', "logins.user_id"],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: source text.
  ["sql`delete from logins where id = ${id}`;", "delete from logins where id ="],
  ['import { LOGIN_TABLE } from "./logins/database/database-logins.ts";', "LOGIN_TABLE"],
  ['export { isKey } from "./logins/database/database-logins.ts";', "isKey"],
])("another source that refers to it is found: %s", (text, known) => {
  expect(knowledgeIn("auth/any.ts", text)).toEqual([`auth/any.ts: ${known}`]);
});
