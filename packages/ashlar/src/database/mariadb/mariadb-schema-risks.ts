import type { SchemaChange, SchemaRisk } from "../dialect/dialect-inspection.ts";
import { breakingRisk, isRequired, statement } from "../schema/breaking-changes.ts";
import { quoted } from "../schema/sql-words.ts";

/** With one of these options, the server refuses a statement if it would block writes. */
const ONLINE = /\block = none\b|\balgorithm = (?:instant|nocopy)\b/;

/** A default that is computed for each row, or an auto-increment number. */
const COPYING = /\bauto_increment\b|\bserial\b|\bdefault \(?\s*(?!now\b|current_)\w+ \(/;

/**
 * The risk of a change that MariaDB and MySQL can't make in place, so that writes wait while the table is copied:
 * https://mariadb.com/kb/en/innodb-online-ddl-overview/
 */
export function schemaRisk(change: SchemaChange): SchemaRisk | null {
  const { kind, definition } = change;
  const breaks = kind === "changeType" || (kind === "addColumn" && isRequired(definition));
  if (ONLINE.test(definition)) return breaks ? breakingRisk(change) : null;
  return lockRisk(change);
}

function lockRisk(change: SchemaChange): SchemaRisk | null {
  const { kind, table, definition, sql } = change;
  switch (kind) {
    case "addColumn":
      if (isRequired(definition)) return breakingRisk(change);
      return COPYING.test(definition)
        ? copying(
            table,
            'Add it nullable, without a default that is computed for each row, and fill in the rows in batches. With "lock = none", the server refuses changes that it can\'t make without a lock:',
            [`alter table ${quoted(table)} ${sql}, lock = none`],
          )
        : null;
    case "changeType": {
      const broken = breakingRisk(change)!;
      return {
        problem: `${broken.problem} And writes to ${table} wait while all of it is copied, unless the type only becomes longer.`,
        remedy: `${broken.remedy} With "lock = none", the server refuses changes that it can't make without a lock:`,
        lines: [statement(`alter table ${quoted(table)} ${sql}, lock = none`)],
      };
    }
    case "addForeignKey":
      return copying(
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
      return /^drop (?!primary)/.test(definition)
        ? null
        : copying(table, "Let the server refuse changes that it can't make without a lock:", [
            `alter table ${quoted(table)} ${sql}, lock = none`,
          ]);
    case "rewriteTable":
      return copying(
        table,
        'With "lock = none", the server refuses changes that it can\'t make without a lock. Otherwise copy the rows to a new table in batches, as pt-online-schema-change and gh-ost do.',
        [],
      );
    case "createIndex":
      return /\bfulltext\b|\bspatial\b/.test(definition)
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
