import { join } from "node:path";
import { Command } from "commander";
import { setMissingVariable } from "../../scaffold/index.ts";
import { generateSecret } from "../../security/index.ts";
import type { Terminal } from "../terminal.ts";

/** `key:generate`: puts an `APP_KEY` into `.env` where it has none. The key is never printed. */
export function keyGenerateCommand(terminal: Terminal): Command {
  return new Command("key:generate")
    .description("Puts a random APP_KEY into .env, unless it has one.")
    .action(async () => {
      const made = await setMissingVariable(join(terminal.root, ".env"), "APP_KEY", generateSecret());
      terminal.print(
        made
          ? "APP_KEY was written to .env."
          : ".env has an APP_KEY already, and it was left as it is. To replace it, empty its line first: links and cookies signed with the old one die.",
      );
    });
}
