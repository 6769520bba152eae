import { Command } from "commander";
import { installApi } from "../../scaffold/index.ts";
import { emphasis, type Terminal } from "../terminal.ts";

/** `api:install`: puts the API's files and secret into the application, and prints what remains to be added by hand. */
export function apiInstallCommand(terminal: Terminal): Command {
  return new Command("api:install")
    .description("Adds config/api.ts, routes/api.ts, the token column's migration and a JWT_SECRET where absent.")
    .action(async () => {
      const { written, secretMade, remaining } = await installApi(terminal.root);
      for (const path of written) terminal.print(`Made ${path}`);
      if (secretMade) terminal.print("JWT_SECRET was written to .env.");
      if (written.length === 0 && !secretMade) terminal.print("Everything is there; nothing was changed.");
      if (written.some((path) => path.startsWith("database/"))) terminal.print("Run it: npx ashlar migrate");
      if (remaining.length === 0) return;
      terminal.print();
      terminal.print("What remains is yours to add:");
      for (const { file, lines } of remaining) {
        terminal.print();
        terminal.print(emphasis(file, "bold"));
        for (const line of lines) terminal.print(`  ${line}`);
      }
    });
}
