import { join } from "node:path";
import { generateSecret } from "../security/index.ts";
import { readEnvFile } from "../support/index.ts";
import { setMissingVariables } from "./env-file.ts";
import { codeOf } from "./remaining-steps.ts";

/** What giving an application its secrets came to. */
export interface FilledSecrets {
  /** Whether `.env` was made from `.env.example`. */
  readonly fromExample: boolean;
  /** The names of the secrets that were written to it. */
  readonly written: readonly string[];
}

/**
 * Writes every secret that an application uses and `.env` does not have, each 64 random bytes. If there is no `.env`, it
 * begins as a copy of `.env.example`, so that its comments and the other variables are there too.
 *
 * The file is replaced in one step and is readable by its owner alone. A secret that is set stays as it is.
 *
 * @param root the application's folder
 * @throws `E_INVALID_CONFIGURATION` if one of the two files cannot be read; `E_COMMAND` if `.env` cannot be filled in
 */
export async function fillSecrets(root: string): Promise<FilledSecrets> {
  const path = join(root, ".env");
  const isNew = readEnvFile(path) === null;
  const example = readEnvFile(join(root, ".env.example"));
  const names = ["APP_KEY", ...((await usesTokens(root, example ?? "")) ? ["JWT_SECRET"] : [])];
  const secrets = Object.fromEntries(names.map((name) => [name, generateSecret()]));
  const written = await setMissingVariables(path, secrets, example ?? "");
  return { fromExample: isNew && example !== null, written };
}

async function usesTokens(root: string, example: string): Promise<boolean> {
  return /^[ \t]*JWT_SECRET[ \t]*=/m.test(example) || /\bJWT_SECRET\b/.test(await codeOf(root, "config/api.ts"));
}
