import type { DialectInspection, SchemaChange, SchemaRisk } from "../dialect/dialect-inspection.ts";
import { breakingRisk, isRequired, statement } from "../schema/breaking-changes.ts";
import { quoted } from "../schema/sql-words.ts";
import { BYTE_BY_BYTE } from "./mariadb-compiler.ts";
import { COLUMN_NAMES } from "./mariadb-maintenance.ts";

/** An index on a column's prefix doesn't make its values unique. */
const UNIQUE_COLUMN_NAMES = `select max(column_name) as name from information_schema.statistics
  where table_schema = database() and table_name = ? and non_unique = 0
  group by index_name having count(*) = 1 and max(sub_part) is null and max(column_name) is not null`;

const LOOSE_TEXT = {
  columnNames: `${COLUMN_NAMES} and collation_name not like '%bin'`,
  mend: (table: string) => `alter table ${table} convert to ${BYTE_BY_BYTE.trim()}`,
};

const PLAIN_TABLES = {
  names: `select table_name as name from information_schema.tables join information_schema.engines using (engine)
    where table_schema = database() and table_type = 'BASE TABLE' and coalesce(transactions, 'NO') <> 'YES' order by table_name`,
  mend: (table: string) => `alter table "${table}" engine=InnoDB`,
};

/** The server refuses a statement with one of these rather than lock out writes. */
const ONLINE = /\block = none\b|\balgorithm = (?:instant|nocopy)\b/;

/** A default that is computed for each row, or an auto-increment number. */
const COPYING = /\bauto_increment\b|\bserial\b|\bdefault \(?\s*(?!now\b|current_)\w+ \(/;

/**
 * Changes that MariaDB and MySQL can't make in place, so that writes wait while the table is copied:
 * https://mariadb.com/kb/en/innodb-online-ddl-overview/
 */
function schemaRisk(change: SchemaChange): SchemaRisk | null {
  const { kind, table, definition, sql } = change;
  const isOnline = ONLINE.test(definition);
  switch (kind) {
    case "addColumn":
      if (isRequired(definition)) return breakingRisk(change);
      return COPYING.test(definition) && !isOnline
        ? copying(
            table,
            'Add it nullable, without a default that is computed for each row, and fill in the rows in batches. With "lock = none", the server refuses changes that it can\'t make without a lock:',
            [`alter table ${quoted(table)} ${sql}, lock = none`],
          )
        : null;
    case "changeType": {
      const broken = breakingRisk(change)!;
      if (isOnline) return broken;
      return {
        problem: `${broken.problem} And writes to ${table} wait while all of it is copied, unless the type only becomes longer.`,
        remedy: `${broken.remedy} With "lock = none", the server refuses changes that it can't make without a lock:`,
        lines: [statement(`alter table ${quoted(table)} ${sql}, lock = none`)],
      };
    }
    case "addForeignKey":
      return isOnline
        ? null
        : copying(
            table,
            "Without the check of the rows, it is added in place. Look for rows that refer to missing ones first, because the server then doesn't:",
            [
              "set foreign_key_checks = 0",
              `alter table ${quoted(table)} ${sql}, algorithm = inplace, lock = none`,
              "set foreign_key_checks = 1",
            ],
          );
    case "addPrimaryKey":
    case "dropConstraint":
      return /^drop (?!primary)/.test(definition) || isOnline
        ? null
        : copying(table, "Let the server refuse changes that it can't make without a lock:", [
            `alter table ${quoted(table)} ${sql}, lock = none`,
          ]);
    case "rewriteTable":
      return isOnline
        ? null
        : copying(
            table,
            'With "lock = none", the server refuses changes that it can\'t make without a lock. Otherwise copy the rows to a new table in batches, as pt-online-schema-change and gh-ost do.',
            [],
          );
    case "createIndex":
      return /\bfulltext\b|\bspatial\b/.test(definition) && !isOnline
        ? {
            problem: `Writes to ${table} wait until the index is built: only ordinary indexes are built beside them.`,
            remedy: "Try it on a copy, and migrate at a quiet time.",
            lines: [],
          }
        : null;
    default:
      return null;
  }
}

function copying(table: string, remedy: string, statements: readonly string[]): SchemaRisk {
  return {
    problem: `Writes to ${table} wait while all of it is copied.`,
    remedy,
    lines: statements.map(statement),
  };
}

/** What is found out about the tables of MariaDB and MySQL. */
export const MARIADB_INSPECTION: DialectInspection = {
  uniqueColumnNames: UNIQUE_COLUMN_NAMES,
  looseText: LOOSE_TEXT,
  plainTables: PLAIN_TABLES,
  invalidIndexes: null,
  schemaRisk,
};
