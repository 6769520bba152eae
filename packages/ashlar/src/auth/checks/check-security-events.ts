import type { CheckContext } from "../../boot/index.ts";
import { columnsOf } from "../../database/index.ts";
import { SECURITY_EVENTS_TABLE as TABLE } from "../accounts/history/security-events-table.ts";

/** The table of the events of accounts, which applications of earlier versions lack. */
export async function run({ application, database, migrating, warning }: CheckContext): Promise<void> {
  // Without accounts that users manage, no one would see them.
  if (!application().router.routes.some(({ mark }) => mark?.madeBy === "Auth.routes")) return;
  await database(async (opened) => {
    if ((await columnsOf(opened.connection(), TABLE)).size > 0) return;
    const problem = `The database lacks the table ${TABLE}, so users can't see what has happened to their accounts.`;
    warning("accounts.events", { problem, run: migrating });
  });
}
