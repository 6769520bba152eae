import { stat } from "node:fs/promises";
import { columnsOf, type Database, type ModelClass, metadataOf, uniqueColumnNamesOf } from "../../../database/index.ts";
import { migrationsOf } from "../../with-migrations.ts";
import { withDatabaseOrThrow } from "../database.ts";
import { hasApi, hasPages } from "../features.ts";
import { type Check, error, type Finding, finding, warning } from "../finding.ts";
import { reasonOf, TooSlowError } from "../limited.ts";
import type { Subject } from "../subject.ts";
import { tokenModelOf } from "./api.ts";
import { migrating } from "./limits.ts";

/** The tables that the account pages use, apart from those whose names the configuration sets. */
const ACCOUNT_TABLES = ["email_changes", "maintenance"] as const;

/** The database: reachable, migrated, and with the columns and tables that the features use. */
export const DATABASE: Check = {
  name: "Database",
  needsBoot: false,
  seconds: 20,
  async run(subject: Subject): Promise<Finding[]> {
    let isConnected = false;
    try {
      const findings = await withDatabaseOrThrow(subject, (database) => {
        isConnected = true;
        return databaseFindings(subject, database);
      });
      return findings ?? [];
    } catch (thrown) {
      if (isConnected && !(thrown instanceof TooSlowError)) throw thrown;
      const problem = `The database can't be reached: ${reasonOf(thrown)}`;
      const note =
        "Start its server, or correct its address: DATABASE_URL or DATABASE_PATH in .env, read by config/database.ts.";
      return [error("database.connection", { file: "config/database.ts", problem, note })];
    }
  },
};

async function databaseFindings(subject: Subject, database: Database): Promise<Finding[]> {
  const pending = await migrationFindings(subject, database);
  return [
    ...(await modeFindings(subject, database)),
    ...pending,
    // What a pending migration creates is not missing for another reason.
    ...(pending.some(({ id }) => id === "migrations.pending") ? [] : await contentFindings(subject, database)),
  ];
}

async function migrationFindings(subject: Subject, database: Database): Promise<Finding[]> {
  const migrations = migrationsOf(subject.root, database);
  const pending = await migrations.pending();
  const findings: Finding[] = [];
  if (pending.length > 0) {
    const problem = `Migrations have not been run on this database: ${pending.join(", ")}.`;
    const severity = subject.isProduction ? "error" : "warning";
    findings.push(
      finding("migrations.pending", severity, { file: "database/migrations", problem, run: "npx ashlar migrate" }),
    );
  }
  const missing = await migrations.missing();
  if (missing.length > 0) {
    const problem = `Migrations were run whose files are missing: ${missing.join(", ")}.`;
    const note = "Put the files back, or roll the migrations back where the files are: npx ashlar migrate:rollback.";
    findings.push(warning("migrations.missing", { file: "database/migrations", problem, note }));
  }
  return findings;
}

async function modeFindings(subject: Subject, database: Database): Promise<Finding[]> {
  const path = database.dialect.file ?? null;
  if (path === null || process.platform === "win32") return [];
  const file = await stat(path).catch(() => null);
  if (file === null || (file.mode & 0o007) === 0) return [];
  const name = subject.pathOf(path);
  const problem = `Every user of this machine can read ${name}, and with it all data.`;
  return [warning("database.mode", { file: name, problem, run: `chmod o-rwx '${name}'` })];
}

async function contentFindings(subject: Subject, database: Database): Promise<Finding[]> {
  const connection = database.connection();
  const findings: Finding[] = [];
  const missing: string[] = [];
  const columns = new Map<string, ReadonlySet<string>>();
  const columnsIn = async (table: string): Promise<ReadonlySet<string>> => {
    const known = columns.get(table) ?? (await columnsOf(connection, table));
    columns.set(table, known);
    return known;
  };

  const model = hasApi(subject) ? tokenModelOf(subject) : null;
  const token = model?.tokenColumn;
  const table = model === null ? null : tableOf(model);
  if (typeof token === "string" && table !== null) {
    if (!(await columnsIn(table)).has(token)) {
      const problem = `The table ${table} has no column ${token}, which holds each user's active token.`;
      findings.push(error("api.column", { problem, run: "npx ashlar api:install --migrations && npx ashlar migrate" }));
    } else if ((await uniqueColumnNamesOf(connection, table))?.has(token) === false) {
      const problem = `The column ${token} of the table ${table} is not unique: no index finds a token.`;
      const name = `${table}_${token}_unique`;
      const lines = [
        `await database.schema.createIndex("${name}").on("${table}").column("${token}").unique().execute();`,
      ];
      const note = "That is a line for up() of a new migration: npx ashlar make:migration, then npx ashlar migrate.";
      findings.push(warning("api.unique", { problem, in: "database/migrations", lines, note }));
    }
  }
  if (hasPages(subject)) {
    const guards = subject.settings("auth", "GUARDS");
    const users = tableOf(Object(guards.web).model) ?? "users";
    const resets = String(guards.passwordResetTable ?? "password_resets");
    for (const name of [resets, ...ACCOUNT_TABLES]) {
      if ((await columnsIn(name)).size === 0) missing.push(`the table ${name}`);
    }
    for (const name of ["verified_at", "access_epoch"]) {
      if (!(await columnsIn(users)).has(name)) missing.push(`the column ${name} of the table ${users}`);
    }
  }
  if (missing.length > 0) {
    const problem = `The database lacks ${missing.join(", ")}.`;
    findings.push(error("pages.tables", { problem, run: migrating(subject) }));
  }
  return findings;
}

/** The table of a model's class; `null` if it is no model. */
function tableOf(model: unknown): string | null {
  const { table } = Object(model) as { readonly table?: unknown };
  if (typeof table === "string") return table;
  try {
    return metadataOf(model as ModelClass).table;
  } catch {
    return null;
  }
}
