import type { IssuingDriver } from "../../../api/index.ts";
import { tableOf } from "../../../auth/index.ts";
import { type Database, uniqueColumnNamesOf } from "../../../database/index.ts";
import { planMigrations } from "../../../scaffold/index.ts";
import { error, type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";

const NEW_MIGRATION = "for up() of a new migration: npx ashlar make:migration";

/** A table of users, as described by the class that a driver uses. */
interface UserTable {
  readonly table: string;
  /** The class's name. */
  readonly model: string;
  /** The column that holds the active token; `null` with several tokens per user. */
  readonly token: string | null;
  /** The other columns, each with its name and definition. */
  readonly others: readonly (readonly [name: string, definition: string])[];
}

/**
 * Checks whether the tables with the users that drivers issue tokens to exist, and have a unique column for the token.
 */
export async function userTableFindings(
  subject: Subject,
  database: Database,
  drivers: readonly IssuingDriver[],
  columnsIn: (table: string) => Promise<ReadonlySet<string>>,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const lacking = new Set<string>();
  for (const users of drivers.flatMap(userTableOf)) {
    const { table, token } = users;
    if (lacking.has(table)) continue;
    const columns = await columnsIn(table);
    if (columns.size === 0) {
      lacking.add(table);
      findings.push(missingTable(users));
    } else if (token !== null && !columns.has(token)) {
      lacking.add(table);
      findings.push(await missingColumn(subject, table, token));
    } else if (token !== null && (await uniqueColumnNamesOf(database.connection(), table))?.has(token) === false) {
      const problem = `The column ${token} of the table ${table} is not unique, so no index finds a token.`;
      const note = `That is a line ${NEW_MIGRATION}, then npx ashlar migrate.`;
      const lines = [uniqueIndex(table, token)];
      findings.push(warning("api.unique", { problem, in: "database/migrations", lines, note }));
    }
  }
  return findings;
}

function userTableOf({ model, hasMany }: IssuingDriver): UserTable[] {
  const table = tableOf(model);
  if (model === null || table === null) return [];
  const named = (setting: string, usual: string) => {
    const name = model[setting];
    return typeof name === "string" ? name : usual;
  };
  const token = hasMany || typeof model.tokenColumn !== "string" ? null : model.tokenColumn;
  const others = [
    [named("identifierColumn", "email"), '"varchar(254)", (column) => column.notNull().unique()'],
    [named("passwordColumn", "password"), '"varchar(255)", (column) => column.notNull()'],
    [named("accessEpochColumn", "access_epoch"), '"varchar(43)"'],
  ] as const;
  return [{ table, model: String(model.name ?? "the model"), token, others }];
}

function missingTable({ table, model, token, others }: UserTable): Finding {
  const problem = `The table ${table} is missing, which holds the users of the class ${model}.`;
  const unique = token === null ? [] : [[token, '"varchar(255)", (column) => column.unique()'] as const];
  const columns = [...others, ...unique].map(([name, definition]) => `.addColumn("${name}", ${definition})`);
  const lines = [
    "await database.schema",
    `  .createTable("${table}")`,
    "  .$call(primaryKey(database))",
    ...columns.map((column) => `  ${column}`),
    "  .$call(timestamps(database))",
    "  .execute();",
  ];
  const note = `They are ${NEW_MIGRATION} create_${table}, then npx ashlar migrate. Add the other columns of ${model}.`;
  return error("api.table", { problem, in: "database/migrations", lines, note });
}

async function missingColumn({ root }: Subject, table: string, token: string): Promise<Finding> {
  const problem = `The table ${table} has no column ${token}, which holds each user's active token.`;
  const { files } = await planMigrations(root, "api");
  if (files.some(({ path }) => path.endsWith(`_add_${token}_to_${table}.ts`))) {
    return error("api.column", { problem, run: "npx ashlar api:install --migrations && npx ashlar migrate" });
  }
  const lines = [
    `await database.schema.alterTable("${table}").addColumn("${token}", "varchar(255)").execute();`,
    uniqueIndex(table, token),
  ];
  const note = `They are ${NEW_MIGRATION} add_${token}_to_${table}, then npx ashlar migrate.`;
  return error("api.column", { problem, in: "database/migrations", lines, note });
}

function uniqueIndex(table: string, column: string): string {
  return `await database.schema.createIndex("${table}_${column}_unique").on("${table}").column("${column}").unique().execute();`;
}
