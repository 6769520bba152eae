import type { SchemaChange, SchemaRisk } from "../dialect/dialect-inspection.ts";
import { breakingRisk, GUIDE, isRequired, statement, unknownColumn } from "../schema/breaking-changes.ts";
import { quoted } from "../schema/sql-words.ts";

/** Adding a column with one of these rewrites all rows. A constant default or `now()` is stored only once. */
const REWRITING = /\bserial\b|\bbigserial\b|\bgenerated\b|\bdefault \(?\s*(?!now\b|current_)\w+ \(/;

/** Column options that check or index all rows. */
const INDEXED = /\bunique\b|\bprimary key\b/;

/**
 * The risk of the locks that PostgreSQL takes for a change. https://www.postgresql.org/docs/current/sql-altertable.html
 * says which lock each form takes, and which forms read or write the whole table.
 */
export function schemaRisk(change: SchemaChange): SchemaRisk | null {
  const risk = lockRisk(change);
  if (!waitsWithoutLimit(change)) return risk;
  const problem = `Without a transaction, it waits for ${change.table} as long as it has to, and everything else that uses the table waits behind it.`;
  const remedy =
    'Move it to a migration without "export const transaction = false", which yields to others after two seconds.';
  const other = risk ?? breakingRisk(change);
  if (other === null) return { problem, remedy, lines: [] };
  return { problem: `${problem} ${other.problem}`, remedy: `${remedy} ${other.remedy}`, lines: other.lines };
}

function lockRisk(change: SchemaChange): SchemaRisk | null {
  const { kind, table, definition } = change;
  switch (kind) {
    case "createIndex":
      return indexRisk(change);
    case "addColumn":
      return columnRisk(change);
    case "changeType":
      return typeRisk(change);
    case "setNotNull":
      return change.followsValidation ? null : requiring(change);
    case "addUnique":
    case "addPrimaryKey":
      return / using index /.test(definition) ? null : uniqueConstraint(change);
    case "addForeignKey":
      return / not valid\b/.test(definition) ? null : foreignKey(change);
    case "addCheck":
      return / not valid\b/.test(definition) ? null : checkConstraint(change);
    case "validate":
      return change.followsUnvalidated ? validating(change) : null;
    case "rewriteTable":
      return rewriting(table, "It", GUIDE);
    default:
      return null;
  }
}

function validating({ table, name }: SchemaChange): SchemaRisk {
  return {
    problem: `The same transaction has added a constraint to ${table}, whose lock it keeps while it now reads all rows: reads and writes wait.`,
    remedy: "Move it to the next migration, whose transaction locks out only other changes of the table.",
    lines: [statement(`alter table ${quoted(table)} validate constraint ${quoted(String(name))}`)],
  };
}

function columnRisk(change: SchemaChange): SchemaRisk | null {
  const { table, name, definition } = change;
  if (REWRITING.test(definition)) {
    const remedy = "Add it nullable, without a default that is computed for each row, and fill in the rows in batches";
    return rewriting(table, `Adding ${table}.${name}`, remedy);
  }
  if (INDEXED.test(definition)) return uniqueColumn(change);
  if (/\breferences\b/.test(definition) && /\bdefault (?!null\b)/.test(definition)) return foreignKey(change);
  return isRequired(definition) ? requiredColumn(table, name) : null;
}

function typeRisk(change: SchemaChange): SchemaRisk | null {
  const { table, definition } = change;
  const risk = breakingRisk(change)!;
  const widens = /^(?:set data )?type (?:text|character varying|varchar)$/.test(definition.split(" using ")[0]!.trim());
  if (widens) return risk;
  const problem = `${risk.problem} And the table is written again, unless it is text that may become longer: reads and writes of ${table} wait.`;
  return { problem, remedy: risk.remedy, lines: [] };
}

/**
 * Whether a change waits for its lock without a limit. `lock_timeout` is set only in transactions, and a migration
 * outside of one isn't retried either.
 */
function waitsWithoutLimit({ kind, inTransaction }: SchemaChange): boolean {
  return !inTransaction && !["validate", "writeRows", "createIndex"].includes(kind);
}

const isConcurrent = (definition: string): boolean => /\bindex concurrently\b/.test(definition);

function indexRisk({ table, name, columns, definition, sql, inTransaction }: SchemaChange): SchemaRisk | null {
  if (!isConcurrent(definition)) {
    return {
      problem: `Writes to ${table} wait until the index is built.`,
      remedy: "Build it without locking the table, in a separate migration:",
      lines:
        /^create (?:unique )?index (?:(?:if not exists )?\S+ )?on \S+ \([^()]*\)$/.test(definition) &&
        columns.length > 0
          ? concurrentIndex(table, columns, { unique: /^create unique /.test(definition), name })
          : [NO_TRANSACTION, statement(sql.replace(/\sindex\s+(?:if\s+not\s+exists\s+)?/i, " index concurrently "))],
    };
  }
  if (!inTransaction) return null;
  return {
    problem: "It fails: PostgreSQL can't build an index concurrently in a transaction.",
    remedy: "Let the migration run without one, and change nothing else in it:",
    lines: [NO_TRANSACTION],
  };
}

const NO_TRANSACTION = "export const transaction = false;";

function concurrentIndex(
  table: string,
  columns: readonly string[],
  { unique = false, name = null }: { readonly unique?: boolean; readonly name?: string | null },
): string[] {
  const options = [...(unique ? ["unique: true"] : []), ...(name === null ? [] : [`name: "${name}"`])];
  const given = options.length === 0 ? "" : `, { ${options.join(", ")} }`;
  const listed = columns.map((column) => `"${column}"`).join(", ");
  return [NO_TRANSACTION, `await createIndexConcurrently(database, "${table}", [${listed}]${given});`];
}

function rewriting(table: string, subject: string, remedy: string): SchemaRisk {
  return {
    problem: `${subject} writes all of ${table} again: reads and writes wait until that is done.`,
    remedy: remedy.endsWith(".") ? `Copy its rows to a new one: ${remedy}` : `${remedy}: ${GUIDE}`,
    lines: [],
  };
}

function requiredColumn(table: string, name: string | null): SchemaRisk {
  const { problem, remedy } = unknownColumn(`${table}.${name}`);
  return {
    problem: `${problem} It fails at once if the table has rows.`,
    remedy: `${remedy.replace(/\.$/, "")}, in two more migrations:`,
    lines: requireLines(table, name),
  };
}

function requiring({ table, name }: SchemaChange): Pick<SchemaRisk, "problem" | "remedy" | "lines"> {
  return {
    problem: `Reads and writes of ${table} wait while all rows are read. And an insert by the running version fails if it leaves ${table}.${name} out.`,
    remedy:
      "First deploy a version that always writes it, and fill in the old rows. Then two migrations check them without a lock:",
    lines: requireLines(table, name),
  };
}

function requireLines(table: string, name: string | null): string[] {
  const [on, column, constraint] = [quoted(table), quoted(String(name)), quoted(`${table}_${name}_required`)];
  return [
    "// in the first migration: only rows that are written from now on are checked",
    statement(`alter table ${on} add constraint ${constraint} check (${column} is not null) not valid`),
    "// in the second one: reads all rows, while others read and write",
    statement(`alter table ${on} validate constraint ${constraint}`),
    statement(`alter table ${on} alter column ${column} set not null`),
    statement(`alter table ${on} drop constraint ${constraint}`),
  ];
}

function uniqueColumn({ table, name, definition }: SchemaChange): SchemaRisk {
  const required = isRequired(definition) ? ` ${unknownColumn(`${table}.${name}`).problem}` : "";
  return {
    problem: `Reads and writes of ${table} wait until the index of ${table}.${name} is built.${required}`,
    remedy: "Add the column without it, nullable. Then, in a separate migration:",
    lines: concurrentIndex(table, [String(name)], { unique: true }),
  };
}

function uniqueConstraint({ kind, table, name, columns }: SchemaChange): SchemaRisk {
  const type = kind === "addUnique" ? "unique" : "primary key";
  const constraint = name ?? `${table}_key`;
  return {
    problem: `Reads and writes of ${table} wait until the index of the constraint is built.`,
    remedy: `Build the index without locking the table, in a separate migration, then make it the constraint's:`,
    lines: [
      "// in the first migration",
      ...concurrentIndex(table, columns, { unique: true, name: constraint }),
      "// in the second one",
      statement(
        `alter table ${quoted(table)} add constraint ${quoted(constraint)} ${type} using index ${quoted(constraint)}`,
      ),
    ],
  };
}

function foreignKey(change: SchemaChange): SchemaRisk {
  return {
    problem: `Writes to ${change.table}, and to the table that it refers to, wait while all rows are checked.`,
    remedy: "Check the rows in another migration, which lets others write:",
    lines: checkedLater(change),
  };
}

function checkConstraint(change: SchemaChange): SchemaRisk {
  return {
    problem: `Reads and writes of ${change.table} wait while all rows are checked.`,
    remedy: "Check the rows in another migration, which lets others read and write:",
    lines: checkedLater(change),
  };
}

/** The lines that first add a constraint, and then check the existing rows against it. */
function checkedLater({ kind, table, name, sql }: SchemaChange): string[] {
  const isColumn = kind === "addColumn";
  const constraint = quoted(
    isColumn ? `${table}_${name}_foreign` : (name ?? `${table}_${kind === "addCheck" ? "check" : "foreign"}`),
  );
  const rule = isColumn
    ? `foreign key (${quoted(String(name))}) ${/\breferences\b.*/is.exec(sql)?.[0]}`
    : sql.replace(/^add\s+(?:constraint\s+(?!foreign\s|check\b)(?:"(?:[^"]|"")*"|\S+)\s+)?/i, "");
  return [
    "// in the first migration: only rows that are written from now on are checked",
    statement(`alter table ${quoted(table)} add constraint ${constraint} ${rule} not valid`),
    "// in the second one: reads all rows, while others read and write",
    statement(`alter table ${quoted(table)} validate constraint ${constraint}`),
  ];
}
