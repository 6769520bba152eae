import { generateSecret } from "../security/index.ts";
import { privateKeyFor } from "../security/jwt/index.ts";
import { isLeftOut, isPlainObject } from "../support/index.ts";

/**
 * An application's `DRIVERS` with a secret or private key of its own for each driver whose `secret` has no value, which is
 * what an environment variable that is not set gives.
 */
export async function withDriverSecrets(drivers: unknown): Promise<unknown> {
  if (!isPlainObject(drivers)) return drivers;
  const entries = Object.entries(drivers).map(async ([name, entry]) => [name, await withSecret(entry)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

async function withSecret(entry: unknown): Promise<unknown> {
  // One that is not written may be misspelled, which the boot says.
  if (!isPlainObject(entry) || !Object.hasOwn(entry, "secret") || !isLeftOut(entry.secret)) return entry;
  return { ...entry, secret: (await privateKeyFor(entry.algorithm)) ?? generateSecret() };
}
