import type { SchemaChange, SchemaRisk } from "../dialect/dialect-inspection.ts";

/**
 * The risk of a change that breaks the running version of the application, on every database; `null` if there isn't
 * one.
 */
export function breakingRisk(change: SchemaChange): SchemaRisk | null {
  const { kind, table, newName } = change;
  const column = `${table}.${change.name}`;
  switch (kind) {
    case "dropColumn":
      return {
        problem: `The running version writes ${column} and looks for it until it is replaced, and fails without it.`,
        remedy: "First deploy a version whose code doesn't name the column, and drop it with the next one.",
        lines: [],
      };
    case "dropTable":
      return {
        problem: `The running version uses the table ${table} until it is replaced, and fails without it.`,
        remedy: "First deploy a version whose code doesn't name the table, and drop it with the next one.",
        lines: [],
      };
    case "renameColumn":
      return {
        problem: `The running version uses ${column} by its old name until it is replaced, and the new version doesn't work before that.`,
        remedy: `Add ${newName} beside it, let the code write both, copy the old rows, then read the new one, and drop ${change.name} last: ${GUIDE}`,
        lines: [addition(change)],
      };
    case "renameTable":
      return {
        problem: `The running version uses the table ${table} by its old name until it is replaced, and the new version doesn't work before that.`,
        remedy: `Keep the name, and set another one in the model's code alone. If it has to be renamed, create ${newName}, let the code write both, and copy the rows: ${GUIDE}`,
        lines: [],
      };
    case "changeType":
      return {
        problem: `The running version reads and writes ${column} in its old form.`,
        remedy: `Add a column with the new type beside it, let the code write both, copy the old rows, then read the new one, and drop ${change.name} last: ${GUIDE}`,
        lines: [],
      };
    case "setNotNull":
      return {
        problem: `An insert by the running version fails if it leaves ${column} out, and so does the statement if a row lacks it.`,
        remedy: "First deploy a version that always writes it, and fill in the old rows.",
        lines: [],
      };
    case "addColumn":
      return isRequired(change.definition) ? { ...unknownColumn(column), lines: [] } : null;
    case "writeRows":
      return {
        problem: `It changes every row of ${table}, and locks each until the ${change.inTransaction ? "migration" : "statement"} ends.`,
        remedy: `Change them in batches of some thousand, in a migration with "export const transaction = false": ${GUIDE}`,
        lines: [],
      };
    default:
      return null;
  }
}

/** The page that shows how. */
export const GUIDE = "see the manual's guides/zero-downtime.md.";

/** Whether a column's definition requires every insert to set it. */
export function isRequired(definition: string): boolean {
  if (!/\bnot null\b|\bprimary key\b/.test(definition)) return false;
  return !/\bdefault\b|\bgenerated\b|\bserial\b|\bauto_increment\b|\b(?:as|virtual|stored)\b/.test(definition);
}

/** The risk of a new column that is required: the running version doesn't know it. */
export function unknownColumn(column: string): Pick<SchemaRisk, "problem" | "remedy"> {
  return {
    problem: `An insert by the running version doesn't know ${column}, and fails, because it is "not null" without a default.`,
    remedy:
      "Add it nullable or with a default, deploy a version that always writes it, and fill in the old rows before it is required.",
  };
}

/** A line that runs a statement. */
export function statement(sql: string): string {
  return `await sql\`${sql.replaceAll(/[\\`]|\$(?=\{)/g, "\\$&")}\`.execute(database);`;
}

function addition({ table, newName }: SchemaChange): string {
  return `await database.schema.alterTable("${table}").addColumn("${newName}", "varchar(255)").execute(); // or its type`;
}
