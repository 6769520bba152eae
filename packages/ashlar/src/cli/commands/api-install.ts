import { Command } from "commander";
import { installApi } from "../../scaffold/index.ts";
import { describeSecrets } from "../describe-secrets.ts";
import { printRemaining } from "../print-remaining.ts";
import type { Terminal } from "../terminal.ts";

/** `api:install`: puts the API's files and secret into the application, and prints what remains to be added by hand. */
export function apiInstallCommand(terminal: Terminal): Command {
  return new Command("api:install")
    .description("Adds config/api.ts, routes/api.ts, the token column's migration and a JWT_SECRET where absent.")
    .action(async () => {
      const { written, secrets, remaining } = await installApi(terminal.root);
      for (const path of written) terminal.print(`Made ${path}`);
      const made = describeSecrets(secrets);
      if (made !== null) terminal.print(made);
      if (written.length === 0 && made === null) terminal.print("Everything is there; nothing was changed.");
      if (written.some((path) => path.startsWith("database/"))) terminal.print("Run it: npx ashlar migrate");
      printRemaining(terminal, remaining);
    });
}
