import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { tableOf } from "../../../auth/index.ts";
import {
  type Connection,
  columnsOf,
  type Database,
  invalidIndexesOf,
  looseTextColumnsOf,
  obstacle,
  plainTablesOf,
} from "../../../database/index.ts";
import { AshlarError, reasonOf } from "../../../support/index.ts";
import { examinePending } from "../../migrations/examine-migrations.ts";
import { migrationsOf } from "../../migrations/with-migrations.ts";
import { databaseFileOf, isDamaged, UnreachableDatabase, withDatabaseOrThrow } from "../database.ts";
import { migrating } from "../feature-checks.ts";
import { featuresOf, hasApi, hasPages, usesVerification } from "../features.ts";
import { type Check, error, type Finding, finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";
import { trialWrite } from "../trial-write.ts";
import { issuingDriversOf } from "./api.ts";
import { replicaFindings } from "./replicas.ts";
import { userTableFindings } from "./user-tables.ts";

/** The tables that the account pages use, except those with a name set in the configuration. */
const ACCOUNT_TABLES = ["email_changes", "maintenance"] as const;

/** Checks whether the database is reachable, is migrated, and has the columns and tables that the features use. */
export const DATABASE: Check = {
  name: "Database",
  needsBoot: false,
  seconds: 20,
  async run(subject: Subject): Promise<Finding[]> {
    const folder = await folderFindings(subject);
    try {
      const found = await withDatabaseOrThrow(subject, (database) => databaseFindings(subject, database));
      return [...folder, ...(found ?? [])];
    } catch (thrown) {
      if (!(thrown instanceof UnreachableDatabase)) throw thrown;
      return [...folder, error("database.connection", { file: "config/database.ts", ...remedyFor(subject, thrown) })];
    }
  },
};

/** A SQLite file may be readable even if the database can't be written, because its log is created next to it. */
async function folderFindings(subject: Subject): Promise<Finding[]> {
  const file = databaseFileOf(subject);
  // Wrong permissions, or a read-only disk, are reported with the file, if there is one.
  if (file === null || (existsSync(file) && obstacle(file) !== null)) return [];
  const folder = existingFolder(dirname(file));
  const found = await trialWrite(folder, `Give the user that the application runs as permission to write ${folder}.`);
  if (found === null) return [];
  const problem = `The folder of the database, ${subject.pathOf(folder) || "."}, ${found.problem}`;
  return [error("database.folder", { file: "config/database.ts", problem, note: found.note })];
}

/** The folder, or the one in which it will be created. */
function existingFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existingFolder(dirname(folder));
}

const PATH = "DATABASE_PATH in .env, which config/database.ts reads";

function remedyFor(
  subject: Subject,
  { file, obstacle, cause }: UnreachableDatabase,
): { problem: string; note: string; run?: string } {
  if (cause instanceof AshlarError && cause.code === "E_MISSING_PACKAGE") {
    const [, run] = /Run: (npm install \S+)/.exec(cause.message) ?? [];
    const problem = "The database can't be reached, because its driver is not installed.";
    return {
      problem,
      ...(run !== undefined && { run }),
      note: "Or name another connection: DATABASE_CONNECTION in .env.",
    };
  }
  if (file === null) {
    const note =
      "Start its server, or correct its address: DATABASE_URL or DATABASE_PATH in .env, read by config/database.ts.";
    return { problem: `The database can't be reached: ${reasonOf(cause)}`, note };
  }
  const name = subject.pathOf(file);
  if (obstacle !== null) {
    return { problem: `The database ${name} can't be used: ${obstacle}`, note: `Or name another file: ${PATH}.` };
  }
  if (cause instanceof AshlarError && cause.code === "E_DATABASE_BUSY") {
    const note = "End the program that has it open, such as a database browser with unsaved changes.";
    const [waited = ""] = /for all of \d+ ms/.exec(cause.message) ?? [];
    return {
      problem: `The database ${name} can't be read: another program has locked it exclusively, ${waited}.`,
      note,
    };
  }
  const note = isDamaged(cause)
    ? `Put a backup in its place, and delete its -wal and -shm, or name another file: ${PATH}.`
    : `Correct its path: ${PATH}.`;
  // The reason contains the file's name too.
  const reason = reasonOf(cause).replace(` (${file})`, "");
  return { problem: `The database ${name} can't be read: ${reason}`, note };
}

async function databaseFindings(subject: Subject, database: Database): Promise<Finding[]> {
  const pending = await migrationFindings(subject, database);
  return [
    ...(await modeFindings(subject, database)),
    ...pending,
    ...(await indexFindings(database)),
    ...(await replicaFindings(database)),
    // Tables and columns that a pending migration creates aren't reported separately.
    ...(pending.some(({ id }) => id === "migrations.pending") ? [] : await contentFindings(subject, database)),
  ];
}

const MISSING = "Put the files back, or roll the migrations back where the files are: npx ashlar migrate:rollback.";

const NEWER =
  "They are newer than all that are here. If a later version of the application has run them, and you went back to this " +
  "one, that's fine: don't roll them back, because that deletes data that users have entered since, and migrate with " +
  "npx ashlar migrate --allow-newer, which ignores them. Otherwise put the files back.";

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
    findings.push(...(await riskFindings(subject, database)));
  }
  const { names, areNewer } = await migrations.missing();
  if (names.length > 0) {
    const problem = `Migrations were run whose files are missing: ${names.join(", ")}.`;
    const remedy = { file: "database/migrations", problem, note: areNewer ? NEWER : MISSING };
    findings.push(warning(areNewer ? "migrations.newer" : "migrations.missing", remedy));
  }
  return findings;
}

/** The locks and breaking changes of pending migrations, as far as they can be found without running them. */
async function riskFindings({ root }: Subject, database: Database): Promise<Finding[]> {
  return (await examinePending(root, database)).flatMap(({ file, risks, obstacle }) => [
    ...risks.map((risk) => {
      const { line, problem, lines, remedy } = risk;
      return warning("migrations.risk", { file, line, problem, in: "database/migrations", lines, note: remedy });
    }),
    ...(obstacle === null ? [] : [warning("migrations.risk", { file, problem: obstacle, note: LOOK })]),
  ]);
}

const LOOK =
  "Check the rest yourself for locks and breaking changes: the guide to deployments without downtime lists them.";

/** An index that couldn't be built isn't used by any query, but slows down every write. */
async function indexFindings(database: Database): Promise<Finding[]> {
  return (await invalidIndexesOf(database.connection())).map(({ name, table }) => {
    const problem = `The index ${name} of the table ${table} is invalid: creating it concurrently has failed, and left it behind.`;
    const lines = [
      "export const transaction = false;",
      `await sql\`drop index concurrently if exists "${name}"\`.execute(database);`,
    ];
    const note = `If the migration that creates it with createIndexConcurrently hasn't run yet, run it again: npx ashlar migrate. ${NEW_MIGRATION}`;
    return warning("database.index", { problem, in: "database/migrations", lines, note });
  });
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
  const columns = new ReadColumns(database.connection());
  const columnsIn = (table: string) => columns.in(table);
  const drivers = hasApi(subject) ? issuingDriversOf(subject) : [];
  const findings = await userTableFindings(subject, database, drivers, columnsIn);
  const missing = hasPages(subject) ? await missingForPages(subject, columns) : [];
  if (missing.length > 0) {
    const problem = `The database lacks ${missing.join(", ")}.`;
    findings.push(error("pages.tables", { problem, run: migrating(subject) }));
  }
  const declared = featuresOf(subject).flatMap(({ feature }) => Object.keys(feature.tables ?? {}));
  for (const name of new Set([...columns.tables, ...declared])) findings.push(...(await textFindings(database, name)));
  findings.push(...(await engineFindings(database)));
  return findings;
}

/** The columns of tables. Each table's columns are read only once. */
class ReadColumns {
  readonly #connection: Connection;
  readonly #columns = new Map<string, ReadonlySet<string>>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The columns of a table; empty if it is missing. */
  async in(table: string): Promise<ReadonlySet<string>> {
    const known = this.#columns.get(table) ?? (await columnsOf(this.#connection, table));
    this.#columns.set(table, known);
    return known;
  }

  /** The requested tables. */
  get tables(): Iterable<string> {
    return this.#columns.keys();
  }
}

/** The tables and columns that the account pages need and the database lacks. */
async function missingForPages(subject: Subject, columns: ReadColumns): Promise<string[]> {
  const guards = subject.settings("auth", "GUARDS");
  const users = tableOf(Object(guards.web).model) ?? "users";
  const resets = String(guards.passwordResetTable ?? "password_resets");
  const missing: string[] = [];
  for (const name of [resets, ...ACCOUNT_TABLES]) {
    if ((await columns.in(name)).size === 0) missing.push(`the table ${name}`);
  }
  for (const name of [...(usesVerification(subject) ? ["verified_at"] : []), "access_epoch"]) {
    if (!(await columns.in(users)).has(name)) missing.push(`the column ${name} of the table ${users}`);
  }
  return missing;
}

const NEW_MIGRATION =
  "Each line goes into up() of a new migration, which imports sql from ashlar/database: npx ashlar make:migration, then " +
  "npx ashlar migrate.";

/** In a table created by other software, a lookup may find one account by another account's address. */
async function textFindings(database: Database, table: string): Promise<Finding[]> {
  const loose = await looseTextColumnsOf(database.connection(), table);
  if (loose.length === 0) return [];
  const which = `${loose.join(", ")} of the table ${table}`;
  const problem = `Text in ${which} doesn't compare byte by byte: josé@example.com could find jose@example.com.`;
  const lines = [`await sql\`${database.dialect.inspection!.looseText!.mend(table)}\`.execute(database);`];
  return [error("database.collation", { problem, in: "database/migrations", lines, note: NEW_MIGRATION })];
}

/** Tables created by other software, and servers with other defaults, may not provide the framework's guarantees. */
async function engineFindings(database: Database): Promise<Finding[]> {
  const tables = await plainTablesOf(database.connection());
  if (tables.length === 0) return [];
  const which = tables.length === 1 ? `The table ${tables[0]} has` : `The tables ${tables.join(", ")} have`;
  const problem = `${which} no transactions and no foreign keys: a rollback leaves its changes, and a crash may lose them.`;
  const lines = tables.map(
    (table) => `await sql\`${database.dialect.inspection!.plainTables!.mend(table)}\`.execute(database);`,
  );
  const note = `${NEW_MIGRATION} Such a table has forgotten the references of its columns: add them again, as foreign keys.`;
  return [error("database.engine", { problem, in: "database/migrations", lines, note })];
}
