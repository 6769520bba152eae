import { Command } from "commander";
import { loadApplication } from "../load-application.ts";
import type { Terminal } from "../terminal.ts";

/** `prune`: deletes expired data, as servers do once a day unless `ACCOUNTS.retention.prune` is `false`. */
export function pruneCommand(terminal: Terminal): Command {
  return new Command("prune")
    .description("Deletes expired data, as the server does once a day: logins, mailed links, session data.")
    .addHelpText(
      "after",
      "\nACCOUNTS.retention in config/auth.ts sets how long data is kept. Data of deleted users is always deleted.",
    )
    .action(async () => {
      const application = await loadApplication(terminal.root);
      try {
        const pruned = Object.entries(await application.prune());
        for (const [what, count] of pruned) terminal.print(`${what}: ${count} deleted`);
        if (pruned.length === 0) terminal.print("This application stores nothing that expires.");
      } finally {
        await application.shutdown();
      }
    });
}
