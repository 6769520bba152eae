import type { CheckContext } from "ashlar";
import type {} from "ashlar/database";

const FILE = "config/invitations.ts";
const MONTH_MINUTES = 30 * 24 * 60;

/** What `ashlar doctor` finds about invitations: links that live for months, a missing table, and a route without a limit. */
export async function run({ application, database, error, settings, warning }: CheckContext): Promise<void> {
  const { expiresInMinutes } = settings("invitations", "INVITATIONS") ?? {};
  if (Number(expiresInMinutes) > MONTH_MINUTES) {
    const problem = "Invitations are valid for more than a month: an old mail lets its reader in.";
    warning("invitations.lifetime", { file: FILE, problem, lines: ["// in INVITATIONS:", "expiresInMinutes: 60,"] });
  }
  const tables = await database(({ kysely }) => kysely.introspection.getTables());
  if (tables !== null && !tables.some(({ name }) => name === "invitations")) {
    const problem = "The database has no table invitations.";
    error("invitations.table", { problem, run: "npx ashlar invitations:install && npx ashlar migrate" });
  }
  const sending = application().router.routes.find(({ pattern }) => pattern === "/invitations");
  if (sending?.middleware.includes("throttle:invitations") === false) {
    const problem = "One visitor can send any number of invitations.";
    warning("invitations.limit", { at: sending.location, problem, note: 'Add .middleware("throttle:invitations").' });
  }
}
