import type { SchemaChange, SchemaRisk } from "../dialect/dialect-inspection.ts";
import { breakingRisk, isRequired, unknownColumn } from "../schema/breaking-changes.ts";

const ONE_WRITER =
  "SQLite has one writer at a time, so every other write waits in the meantime, and fails after acquireTimeoutMs (E_DATABASE_BUSY). Reads continue.";

const MEASURE =
  "Try it on a copy of the database. If it takes longer than acquireTimeoutMs of the connection, migrate at a quiet time, or raise that setting temporarily.";

/**
 * The risk of a change that SQLite refuses, or that keeps its only writer busy:
 * https://www.sqlite.org/lang_altertable.html
 */
export function schemaRisk(change: SchemaChange): SchemaRisk | null {
  const { kind, table, name } = change;
  switch (kind) {
    case "createIndex":
      return { problem: `All rows of ${table} are read to build the index. ${ONE_WRITER}`, remedy: MEASURE, lines: [] };
    case "rebuildTable":
      return { problem: `All rows of ${table} are copied. ${ONE_WRITER}`, remedy: MEASURE, lines: [] };
    case "dropColumn": {
      const { problem, remedy } = breakingRisk(change)!;
      return {
        problem: `${problem} And all rows of ${table} are written again. ${ONE_WRITER}`,
        remedy: `${remedy} ${MEASURE}`,
        lines: [],
      };
    }
    case "addColumn":
      return columnRisk(change);
    case "changeType":
    case "setNotNull":
    case "addUnique":
    case "addPrimaryKey":
    case "addForeignKey":
    case "addCheck":
    case "dropConstraint":
      return {
        problem: `It fails: SQLite can't change ${name === null ? `the constraints of ${table}` : `${table}.${name}`} in place.`,
        remedy: `${kind === "addUnique" ? "Create a unique index instead, or c" : "C"}reate the table again, as the guide to migrations shows in "Changing SQLite tables".`,
        lines: [],
      };
    default:
      return null;
  }
}

function columnRisk({ table, name, definition }: SchemaChange): SchemaRisk | null {
  const column = `${table}.${name}`;
  if (isRequired(definition)) {
    const { problem, remedy } = unknownColumn(column);
    return {
      problem: `It fails: SQLite can't add a "not null" column without a default. ${problem}`,
      remedy,
      lines: [],
    };
  }
  if (/\bunique\b|\bprimary key\b/.test(definition)) {
    return {
      problem: `It fails: SQLite can't add a column that is unique or a primary key.`,
      remedy: `Add ${column} without it, then create a unique index.`,
      lines: [`await createIndexConcurrently(database, "${table}", ["${name}"], { unique: true });`],
    };
  }
  if (!/\bdefault \(|\bdefault current_/.test(definition)) return null;
  return {
    problem: `It fails if ${table} has rows: SQLite can't add a column whose default is computed.`,
    remedy: "Add it nullable, and fill in the rows.",
    lines: [],
  };
}
