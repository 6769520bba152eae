import { join } from "node:path";
import { generateSecret } from "../security/index.ts";
import { readEnvFile } from "../support/index.ts";
import { setMissingVariables } from "./env-file.ts";
import { codeOf } from "./existing-files.ts";

/** The result of filling in an application's secrets. */
export interface FilledSecrets {
  /** Whether `.env` was created from `.env.example`. */
  readonly fromExample: boolean;
  /** The names of the secrets that were written to it. */
  readonly written: readonly string[];
}

/**
 * Writes every secret that an application uses and `.env` lacks, each 64 random bytes. A missing `.env` starts as a copy of
 * `.env.example`, with its comments and other variables.
 *
 * The file is replaced in one step and readable only by its owner. Existing secrets stay unchanged.
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
