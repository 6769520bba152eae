import { blockedColumnOf } from "../../../auth/index.ts";
import { columnsOf, type Database } from "../../../database/index.ts";
import { type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";
import { guardModels } from "./guard-models.ts";
import { migrating } from "./limits.ts";

/** The names that the migration of `ashlar auth --migrations` uses. */
const USUAL = { table: "users", column: "blocked_at" };

/**
 * The tables of all guards' users: whether they have the column without which `users:block` fails on the night it is
 * needed.
 */
export async function userBlockFindings(subject: Subject, database: Database): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [table, model] of guardModels(subject)) {
    const column = blockedColumnOf(model);
    const { connection } = model as { readonly connection?: string | null };
    const columns = await columnsOf(database.connection(connection ?? undefined), table);
    // Other checks report a missing table.
    if (column === null || columns.size === 0 || columns.has(column)) continue;
    const problem = `The table ${table} has no column ${column}, so its accounts can't be blocked.`;
    if (table === USUAL.table && column === USUAL.column) {
      findings.push(warning("users.blocked", { problem, run: migrating(subject) }));
      continue;
    }
    const lines = [
      'import { timestamp } from "ashlar/database";',
      `await database.schema.alterTable("${table}").addColumn("${column}", timestamp(database)).execute();`,
    ];
    const note =
      `They are for a new migration and its up(): npx ashlar make:migration add_${column}_to_${table}, then npx ashlar migrate. ` +
      "If they are never blocked, add static override blockedColumn = null to the class.";
    findings.push(warning("users.blocked", { problem, in: "database/migrations", lines, note }));
  }
  return findings;
}
