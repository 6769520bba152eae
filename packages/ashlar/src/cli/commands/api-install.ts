import type { Command } from "commander";
import { installCommand } from "../install-command.ts";
import type { Terminal } from "../terminal.ts";

/** `api:install`: adds the API and its secret to the application, and prints what to add by hand. */
export function apiInstallCommand(terminal: Terminal): Command {
  const description =
    "Adds the API: configuration, routes, token endpoints, the token column's migration, a JWT_SECRET.";
  return installCommand(terminal, "api:install", "api", description);
}
