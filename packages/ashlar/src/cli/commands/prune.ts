import { Command } from "commander";
import { loadApplication } from "../load-application.ts";
import type { Terminal } from "../terminal.ts";

/** `prune`: deletes what has expired, as a server does once a day unless `ACCOUNTS.retention.prune` is `false`. */
export function pruneCommand(terminal: Terminal): Command {
  return new Command("prune")
    .description("Deletes what has expired, as the server does once a day: logins, links in mails, session data.")
    .addHelpText(
      "after",
      "\nHow long what is kept: ACCOUNTS.retention in config/auth.ts. What belongs to deleted users goes in any case.",
    )
    .action(async () => {
      const application = await loadApplication(terminal.root);
      try {
        const pruned = Object.entries(await application.prune());
        for (const [what, count] of pruned) terminal.print(`${what}: ${count} deleted`);
        if (pruned.length === 0) terminal.print("There is nothing that expires.");
      } finally {
        await application.shutdown();
      }
    });
}
