import { Command } from "commander";
import { loadApplication } from "../load-application.ts";
import type { Terminal } from "../terminal.ts";

/** `prune`: deletes what has expired, for a daily job of the machine. */
export function pruneCommand(terminal: Terminal): Command {
  return new Command("prune")
    .description("Deletes what has expired: logins, session data, password resets.")
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
