import { join } from "node:path";
import { Command } from "commander";
import { fillSecrets, rotateKey } from "../../scaffold/index.ts";
import { generateSecret } from "../../security/index.ts";
import { describeSecrets } from "../describe-secrets.ts";
import type { Terminal } from "../terminal.ts";

const LEFT =
  ".env has an APP_KEY already, and it was left as it is. To replace it and keep accepting what was made with it: " +
  "npx ashlar key:generate --rotate";
const ROTATED =
  ".env has a new APP_KEY, and the old one stands first in APP_PREVIOUS_KEYS. Restart the application. An old key that " +
  "leaked must not stay there: what is made with it is accepted.";

/**
 * `key:generate`: fills in the secrets that `.env` lacks, and makes it from `.env.example` if there is none; with
 * `--rotate` it replaces `APP_KEY`, and the old one goes to the front of `APP_PREVIOUS_KEYS`. No secret is ever printed.
 */
export function keyGenerateCommand(terminal: Terminal): Command {
  return new Command("key:generate")
    .description("Fills in the secrets that .env lacks; makes it from .env.example if there is none.")
    .option("--rotate", "replace APP_KEY, and keep the old one in APP_PREVIOUS_KEYS (the newest 5)")
    .action(async ({ rotate = false }: { readonly rotate?: boolean }) => {
      if (rotate && (await rotateKey(join(terminal.root, ".env"), generateSecret()))) return terminal.print(ROTATED);
      terminal.print(describeSecrets(await fillSecrets(terminal.root)) ?? LEFT);
    });
}
