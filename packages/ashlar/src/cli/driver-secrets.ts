import { join } from "node:path";
import { loadConfiguration, namingUnset, readEnvironment, unsetVariable } from "../boot/index.ts";
import { setMissingVariables } from "../scaffold/index.ts";
import { generateSecret } from "../security/index.ts";
import { privateKeyFor } from "../security/jwt/index.ts";
import { type EnvironmentVariables, isPlainObject } from "../support/index.ts";

/** The secret or private key of a driver of `config/api.ts` that is read from a variable which is not set. */
export interface UnsetSecret {
  /** The name of the driver. */
  readonly driver: string;
  /** The algorithm, as the driver writes it. */
  readonly algorithm: unknown;
  /** The name of the variable. */
  readonly variable: string;
}

/**
 * Finds the secrets of drivers that are read from variables which are not set, by loading `config/api.ts`.
 *
 * @param root the application's folder
 * @throws what the file throws
 */
export async function unsetSecretsOf(root: string, variables: EnvironmentVariables): Promise<UnsetSecret[]> {
  const config = await loadConfiguration(root, namingUnset(variables), {}, "api");
  const { DRIVERS } = config.has("api") ? config.section("api") : {};
  return Object.entries(isPlainObject(DRIVERS) ? DRIVERS : {}).flatMap(([driver, entry]) => {
    if (!isPlainObject(entry)) return [];
    const variable = unsetVariable(entry.secret);
    return variable === null ? [] : [{ driver, algorithm: entry.algorithm, variable }];
  });
}

/**
 * Writes the missing secrets and private keys of an application's drivers to its `.env`, each into the variable that the
 * driver reads.
 *
 * @returns the names of the variables
 * @throws what `config/api.ts` throws; `E_COMMAND` if `.env` cannot be filled in
 */
export async function fillDriverSecrets(root: string): Promise<string[]> {
  const values: Record<string, string> = {};
  for (const { algorithm, variable } of await unsetSecretsOf(root, readEnvironment(root))) {
    values[variable] = (await privateKeyFor(algorithm)) ?? generateSecret();
  }
  return await setMissingVariables(join(root, ".env"), values);
}
