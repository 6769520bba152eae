import { join } from "node:path";
import { Command } from "commander";
import { rotateKey, setMissingVariable } from "../../scaffold/index.ts";
import { generateSecret } from "../../security/index.ts";
import type { Terminal } from "../terminal.ts";

const MADE = "APP_KEY was written to .env.";
const LEFT =
  ".env has an APP_KEY already, and it was left as it is. To replace it and keep accepting what was made with it: " +
  "npx ashlar key:generate --rotate";
const ROTATED =
  ".env has a new APP_KEY, and the old one stands first in APP_PREVIOUS_KEYS. Restart the application. An old key that " +
  "leaked must not stay there: what is made with it is accepted.";

/**
 * `key:generate`: puts an `APP_KEY` into `.env` where it has none; with `--rotate` also where it has one, which goes to
 * the front of `APP_PREVIOUS_KEYS`. No key is ever printed.
 */
export function keyGenerateCommand(terminal: Terminal): Command {
  return new Command("key:generate")
    .description("Puts a random APP_KEY into .env, unless it has one.")
    .option("--rotate", "replace the one it has, and keep that in APP_PREVIOUS_KEYS (the newest 5)")
    .action(async ({ rotate = false }: { readonly rotate?: boolean }) => {
      const path = join(terminal.root, ".env");
      if (rotate && (await rotateKey(path, generateSecret()))) return terminal.print(ROTATED);
      terminal.print((await setMissingVariable(path, "APP_KEY", generateSecret())) ? MADE : LEFT);
    });
}
