import { join } from "node:path";
import { Command, Option } from "commander";
import { promoteKey, rotateKey, stageKey } from "../../scaffold/index.ts";
import { generateSecret } from "../../security/index.ts";
import { KEY_ALGORITHMS, type KeyAlgorithm } from "../../security/jwt/index.ts";
import { AshlarError } from "../../support/index.ts";
import { describeSecrets, fillAllSecrets } from "../secrets/fill-all-secrets.ts";
import { generateJwtKey } from "../secrets/generate-jwt-key.ts";
import type { Terminal } from "../terminal.ts";

const UNCHANGED =
  ".env already has an APP_KEY, which was not changed. To replace it and still accept everything made with it: " +
  "npx ashlar key:generate --rotate";
const ROTATED =
  ".env has a new APP_KEY, and the old one is now first in APP_PREVIOUS_KEYS. Restart the application. If the old key has " +
  "leaked, remove it from the list: everything made with it is still accepted.";
const STAGED =
  ".env has a new key in APP_NEXT_KEY, which is accepted but not used yet. Deploy it to every process. Then run: " +
  "npx ashlar key:generate --promote";
const PROMOTED =
  "The staged key is now APP_KEY, and the old one is first in APP_PREVIOUS_KEYS. Deploy it: processes that still run with " +
  "the old APP_KEY and the new APP_NEXT_KEY accept everything that the others make.";

const DRIVER_ALONE =
  "--driver goes with --jwt, such as --jwt ES256. Without both, npx ashlar key:generate writes the missing secrets and private " +
  "keys of all drivers.";

interface Options {
  readonly jwt?: KeyAlgorithm;
  readonly driver?: string;
  readonly rotate?: boolean;
  readonly stage?: boolean;
  readonly promote?: boolean;
}

/**
 * `key:generate`: fills in the secrets missing from `.env`, including those of the drivers in `config/api.ts`, and creates the
 * file from `.env.example` if necessary. With `--rotate`, it replaces `APP_KEY` and moves the old key to the front of
 * `APP_PREVIOUS_KEYS`; `--stage` and `--promote` do this in two steps. With `--jwt`, it does the same for the private key that
 * signs API tokens. It never prints a secret.
 */
export function keyGenerateCommand(terminal: Terminal): Command {
  return new Command("key:generate")
    .description("Fills in the secrets missing from .env, and creates it from .env.example if necessary.")
    .addOption(
      new Option("--jwt <algorithm>", "do it for the private key that signs API tokens").choices(KEY_ALGORITHMS),
    )
    .option("--driver <name>", "with --jwt: whose key it is, by its name in DRIVERS of config/api.ts (default: jwt)")
    .option("--rotate", "replace APP_KEY, and keep the old one in APP_PREVIOUS_KEYS (the newest 5)")
    .option("--stage", "with --rotate: only write the new key to APP_NEXT_KEY, to be accepted by every process first")
    .addOption(
      new Option("--promote", "with or without --rotate: make the staged key the current one").conflicts("stage"),
    )
    .action((options: Options) => generate(terminal, options));
}

async function generate(terminal: Terminal, options: Options): Promise<void> {
  const { jwt, driver, rotate = false, stage = false, promote = false } = options;
  const change = promote ? "promote" : stage ? "stage" : rotate ? "rotate" : "fill";
  if (jwt !== undefined) return await generateJwtKey(terminal, jwt, driver ?? "jwt", change);
  if (driver !== undefined) throw new AshlarError("E_COMMAND", DRIVER_ALONE);
  const done = await changeKey(join(terminal.root, ".env"), change);
  terminal.print(done ?? describeSecrets(await fillAllSecrets(terminal)) ?? UNCHANGED);
}

/** Changes `APP_KEY`, and returns a description of the change; `null` if there was nothing to change. */
async function changeKey(path: string, change: "fill" | "rotate" | "stage" | "promote"): Promise<string | null> {
  switch (change) {
    case "promote":
      return (await promoteKey(path)) ? PROMOTED : null;
    case "stage":
      return (await stageKey(path, generateSecret())) ? STAGED : null;
    case "rotate":
      return (await rotateKey(path, generateSecret())) ? ROTATED : null;
    case "fill":
      return null;
  }
}
