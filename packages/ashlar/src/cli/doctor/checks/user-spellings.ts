import { findSpellings, ModelSpellings, type SpelledUserModel, type StoredText } from "../../../auth/index.ts";
import type { Database } from "../../../database/index.ts";
import { error, type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";
import { guardModels } from "./guard-models.ts";

/** How long the check reads users, in milliseconds: the command reads all of them. */
const LOOK_MS = 2000;
/** How many users a finding names. */
const NAMED = 5;

const RUN = "npx ashlar users:normalize";

/**
 * The users of all guards: whether they can be found by their identifiers, and whether each mailbox has only one
 * account.
 */
export async function userSpellingFindings(subject: Subject, database: Database): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [table, model] of guardModels(subject)) {
    const users = model as SpelledUserModel;
    const connection = database.connection(users.connection ?? undefined);
    const spelled = await ModelSpellings.of(users, connection);
    const report = await findSpellings(spelled, AbortSignal.timeout(LOOK_MS));
    const note = "With --dry-run it shows the changes. It ends no logins.";
    if (report.others.length > 0) {
      const problem = `Users of the table ${table} are stored in a form that lookups don't use, so they may not be able to log in, and can register again: ${listed(report.others)}.`;
      findings.push(warning("users.spelling", { problem, run: RUN, note }));
    }
    for (const all of report.collisions.slice(0, NAMED)) {
      const problem = `Users of the table ${table} have one ${all[0]!.column} in several spellings, of which only one logs in: ${listed(all)}.`;
      const remedy = `Decide which account stays, delete or change the other one, and run: ${RUN}`;
      findings.push(error("users.twins", { problem, note: remedy }));
    }
    if (report.refused.length > 0) {
      const problem = `Mail software can read addresses in the table ${table} as other ones, so they get no mails: ${listed(report.refused)}.`;
      findings.push(
        warning("users.address", { problem, note: "Block these accounts, or ask their owners for another address." }),
      );
    }
  }
  return findings;
}

/** By their keys: an address in a report would be visible to everyone who reads a deployment's log. */
function listed(texts: readonly StoredText[]): string {
  const names = texts.slice(0, NAMED).map(({ id }) => String(id));
  const rest = texts.length - names.length;
  return `${names.join(", ")}${rest > 0 ? `, and ${rest} more` : ""}`;
}
