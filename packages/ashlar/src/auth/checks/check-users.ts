import type { CheckContext } from "../../boot/index.ts";
import { columnsOf, type Database } from "../../database/index.ts";
import { findSpellings } from "../spellings/find-spellings.ts";
import { ModelSpellings, type SpelledUserModel } from "../spellings/model-spellings.ts";
import type { StoredText } from "../spellings/spelled-users.ts";
import { blockedColumnOf, closingColumnOf } from "../users/authenticatable.ts";
import { guardModels } from "./guard-models.ts";

/** The table that the migrations of `ashlar auth --migrations` change. */
const USUAL_TABLE = "users";
/** How long the check reads users, in milliseconds: the command reads all of them. */
const LOOK_MS = 2000;
/** How many users a finding names. */
const NAMED = 5;
const NORMALIZE = "npx ashlar users:normalize";

/** The tables of all guards' users. */
export async function run(context: CheckContext): Promise<void> {
  await context.database(async (database) => {
    for (const [table, model] of guardModels(context.settings("auth", "GUARDS") ?? {})) {
      await checkColumns(context, database, table, model);
      await checkSpellings(context, database, table, model);
    }
  });
}

/** A column of users without which something can't be done on the day it is needed. */
interface NeededColumn {
  readonly finding: string;
  /** The column; `null` if the class says that its users don't have it. */
  readonly of: (model: object) => string | null;
  /** The name that the migration of `ashlar auth --migrations` uses. */
  readonly usual: string;
  readonly setting: string;
  /** What can't be done. */
  readonly what: string;
}

const NEEDED: readonly NeededColumn[] = [
  {
    finding: "users.blocked",
    of: blockedColumnOf,
    usual: "blocked_at",
    setting: "blockedColumn",
    what: "blocked",
  },
  {
    finding: "users.closing",
    of: closingColumnOf,
    usual: "closes_at",
    setting: "closingColumn",
    what: "closed",
  },
];

async function checkColumns(
  { migrating, warning }: CheckContext,
  database: Database,
  table: string,
  model: object,
): Promise<void> {
  const { connection } = model as { readonly connection?: string | null };
  const columns = await columnsOf(database.connection(connection ?? undefined), table);
  // Other checks report a missing table.
  if (columns.size === 0) return;
  for (const { finding, of, usual, setting, what } of NEEDED) {
    const column = of(model);
    if (column === null || columns.has(column)) continue;
    const problem = `The table ${table} has no column ${column}, so its accounts can't be ${what}.`;
    if (table === USUAL_TABLE && column === usual) {
      warning(finding, { problem, run: migrating });
      continue;
    }
    const lines = [
      'import { timestamp } from "ashlar/database";',
      `await database.schema.alterTable("${table}").addColumn("${column}", timestamp(database)).execute();`,
    ];
    const note =
      `They are for a new migration and its up(): npx ashlar make:migration add_${column}_to_${table}, then npx ashlar migrate. ` +
      `If they are never ${what}, add static override ${setting} = null to the class.`;
    warning(finding, { problem, in: "database/migrations", lines, note });
  }
}

/** Checks that users can be found by their identifiers, and that each mailbox has only one account. */
async function checkSpellings(
  { error, warning }: CheckContext,
  database: Database,
  table: string,
  model: object,
): Promise<void> {
  const users = model as SpelledUserModel;
  const spelled = await ModelSpellings.of(users, database.connection(users.connection ?? undefined));
  const report = await findSpellings(spelled, AbortSignal.timeout(LOOK_MS));
  if (report.others.length > 0) {
    const problem = `Users of the table ${table} are stored in a form that lookups don't use, so they may not be able to log in, and can register again: ${listed(report.others)}.`;
    const note = "With --dry-run it shows the changes. It ends no logins.";
    warning("users.spelling", { problem, run: NORMALIZE, note });
  }
  for (const all of report.collisions.slice(0, NAMED)) {
    const problem = `Users of the table ${table} have one ${all[0]!.column} in several spellings, of which only one logs in: ${listed(all)}.`;
    const note = `Decide which account stays, delete or change the other one, and run: ${NORMALIZE}`;
    error("users.twins", { problem, note });
  }
  if (report.refused.length > 0) {
    const problem = `Mail software can read addresses in the table ${table} as other ones, so they get no mails: ${listed(report.refused)}.`;
    warning("users.address", { problem, note: "Block these accounts, or ask their owners for another address." });
  }
}

/** Lists users by key, because addresses in a report would be visible to everyone who can read a deployment's log. */
function listed(texts: readonly StoredText[]): string {
  const names = texts.slice(0, NAMED).map(({ id }) => String(id));
  const rest = texts.length - names.length;
  return `${names.join(", ")}${rest > 0 ? `, and ${rest} more` : ""}`;
}
