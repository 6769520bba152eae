import type { Command } from "commander";
import { installCommand } from "../install-command.ts";
import type { Terminal } from "../terminal.ts";

/** `auth`: adds the account pages to the application, and prints what to add by hand. */
export function authCommand(terminal: Terminal): Command {
  const description =
    "Adds login, registration, passwords and verification: controllers, views, mails, migrations, tests.";
  return installCommand(terminal, "auth", "pages", description);
}
