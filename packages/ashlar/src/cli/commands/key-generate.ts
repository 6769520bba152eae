import { join } from "node:path";
import { Command } from "commander";
import { fillSecrets, rotateKey } from "../../scaffold/index.ts";
import { generateSecret } from "../../security/index.ts";
import { describeSecrets } from "../describe-secrets.ts";
import type { Terminal } from "../terminal.ts";

const UNCHANGED =
  ".env already has an APP_KEY, which was not changed. To replace it and still accept what was made with it: " +
  "npx ashlar key:generate --rotate";
const ROTATED =
  ".env has a new APP_KEY, and the old one is now first in APP_PREVIOUS_KEYS. Restart the application. If the old key has " +
  "leaked, remove it from the list: everything made with it is still accepted.";

/**
 * `key:generate`: fills in the secrets missing from `.env`, and creates the file from `.env.example` if necessary. With
 * `--rotate` it replaces `APP_KEY` and moves the old one to the front of `APP_PREVIOUS_KEYS`. It never prints a secret.
 */
export function keyGenerateCommand(terminal: Terminal): Command {
  return new Command("key:generate")
    .description("Fills in the secrets missing from .env, and creates it from .env.example if necessary.")
    .option("--rotate", "replace APP_KEY, and keep the old one in APP_PREVIOUS_KEYS (the newest 5)")
    .action(async ({ rotate = false }: { readonly rotate?: boolean }) => {
      if (rotate && (await rotateKey(join(terminal.root, ".env"), generateSecret()))) return terminal.print(ROTATED);
      terminal.print(describeSecrets(await fillSecrets(terminal.root)) ?? UNCHANGED);
    });
}
