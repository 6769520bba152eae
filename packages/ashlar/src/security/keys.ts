import { createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { AshlarError } from "../support/index.ts";
import { requireSecret } from "./secrets.ts";

/** What a key of the framework is for. No string of an application can stand for it: see {@link deriveKey}. */
export class KeyPurpose {
  readonly #name: string;

  /** @param name lower-case words with hyphens, which no other purpose has */
  constructor(name: string) {
    this.#name = name;
  }

  toString(): string {
    return this.#name;
  }
}

/** The longest name for a purpose, in bytes. HKDF takes 1024 for the label in Node.js. */
const MAX_PURPOSE_BYTES = 256;
const KEY_BYTES = 32;

/**
 * Derives the key for one purpose from the application's secret: HKDF-SHA256 (RFC 5869) with the purpose as its label,
 * so that no two purposes share a key. A string always names a purpose of the application: the framework's purposes are
 * values that applications cannot create.
 *
 * @param secret at least 32 bytes of randomness, as text
 * @param purpose what the key is for: one of the framework's, or a string chosen by the application
 * @returns a key of 32 bytes
 * @throws `E_WEAK_SECRET`; `E_INVALID_CONFIGURATION` if the string cannot name a purpose
 */
export function deriveKey(secret: string, purpose: KeyPurpose | string): KeyObject {
  requireSecret(secret, `the key for "${purpose}"`);
  // The label begins with a name and a version, so that another program with the same secret derives different keys, and
  // a later scheme can differ from this one.
  const bytes = hkdfSync("sha256", secret, "", `ashlar/1/${labelOf(purpose)}`, KEY_BYTES);
  return createSecretKey(new Uint8Array(bytes));
}

/**
 * Returns the unique label of a purpose: an application's purposes have their own namespace.
 *
 * @throws `E_INVALID_CONFIGURATION` if a string cannot name a purpose
 */
export function labelOf(purpose: KeyPurpose | string): string {
  if (purpose instanceof KeyPurpose) return String(purpose);
  // Lone surrogates would all become the same character.
  const isName = typeof purpose === "string" && purpose !== "" && purpose.isWellFormed();
  if (isName && Buffer.byteLength(purpose) <= MAX_PURPOSE_BYTES) return `application/${purpose}`;
  const problem = `The purpose of a key must be well-formed text of 1 to ${MAX_PURPOSE_BYTES} bytes`;
  throw new AshlarError("E_INVALID_CONFIGURATION", `${problem}, such as "invitation".`);
}

/**
 * Derives the purpose's key from each secret: the current one first, then those it replaced.
 *
 * @throws as {@link deriveKey}
 */
export function deriveKeys(
  secret: string,
  previous: readonly string[],
  purpose: KeyPurpose | string,
): [KeyObject, ...KeyObject[]] {
  return [deriveKey(secret, purpose), ...previous.map((one) => deriveKey(one, purpose))];
}
