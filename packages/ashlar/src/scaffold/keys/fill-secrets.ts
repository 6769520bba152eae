import { join } from "node:path";
import { generateSecret } from "../../security/index.ts";
import { type EnvironmentVariables, readEnvFile } from "../../support/index.ts";
import { missingOf, setMissingVariables, variablesOf } from "../files/env-file.ts";
import { codeOf } from "../files/existing-files.ts";

/** The result of filling in an application's secrets. */
export interface FilledSecrets {
  /** Whether `.env` was created from `.env.example`. */
  readonly fromExample: boolean;
  /** The names of the secrets that were written. */
  readonly written: readonly string[];
}

/** The `.env` file that is about to be written. */
export interface NewEnvironment {
  /** Whether the file doesn't exist yet. */
  readonly isNew: boolean;
  readonly variables: EnvironmentVariables;
}

/**
 * Writes the secrets that an application uses and `.env` lacks, each 64 random bytes. A missing `.env` starts as a copy
 * of `.env.example`, with its comments and other variables.
 *
 * The file is replaced in one step. A new file is readable only by its owner. Existing secrets stay unchanged.
 *
 * @param root the application's folder
 * @param others returns further secrets, by variable; receives the file as it would be without them. Security: their
 * values in `.env.example` are ignored, as for all secrets
 * @throws `E_INVALID_CONFIGURATION` if one of the two files cannot be read; `E_COMMAND` if `.env` cannot be filled in
 */
export async function fillSecrets(
  root: string,
  others: (environment: NewEnvironment) => Promise<Readonly<Record<string, string>>> = async () => ({}),
): Promise<FilledSecrets> {
  const path = join(root, ".env");
  const present = readEnvFile(path);
  const example = readEnvFile(join(root, ".env.example"));
  const names = ["APP_KEY", ...((await usesTokens(root, example ?? "")) ? ["JWT_SECRET"] : [])];
  const secrets = Object.fromEntries(names.map((name) => [name, generateSecret()]));
  const variables = { ...variablesOf(present ?? example ?? "") };
  for (const name of missingOf(present, secrets)) variables[name] = secrets[name]!;
  const more = await others({ isNew: present === null, variables });
  const written = await setMissingVariables(path, { ...secrets, ...more }, example ?? "");
  return { fromExample: present === null && example !== null, written };
}

async function usesTokens(root: string, example: string): Promise<boolean> {
  return /^[ \t]*JWT_SECRET[ \t]*=/m.test(example) || /\bJWT_SECRET\b/.test(await codeOf(root, "config/api.ts"));
}
