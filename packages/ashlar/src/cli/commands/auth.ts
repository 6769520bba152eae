import type { Command } from "commander";
import { installCommand } from "../install-command.ts";
import type { Terminal } from "../terminal.ts";

/** `auth`: puts the pages of accounts into the application, and prints what remains to be added by hand. */
export function authCommand(terminal: Terminal): Command {
  const description =
    "Adds login, registration, passwords and verification: controllers, views, mails, migrations, tests.";
  return installCommand(terminal, "auth", "pages", description);
}
