import { createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { AshlarError, ConfigurationError, SourceLocation } from "../support/index.ts";
import { requireSecret } from "./secrets.ts";

/** A feature's purpose for a derived key. It can't be replaced by a string: see `deriveKey`. */
export class KeyPurpose {
  readonly #name: string;

  /**
   * @internal Features create theirs with {@link declareKeyPurpose}. @param name unique, lower-case words with hyphens
   */
  constructor(name: string) {
    this.#name = name;
  }

  toString(): string {
    return this.#name;
  }
}

/** The file that declares each feature purpose, by the purpose's label. */
const places = new Map<string, SourceLocation>();

/**
 * Declares a feature's purpose for signed or sealed values. Neither another feature nor an application can derive the
 * same key, whatever strings they use. Call it when the module loads, and use the purpose:
 *
 * ```ts
 * const INVITATION = declareKeyPurpose("shop-invitation");
 *
 * const signer = new Signer(application.settings.key, INVITATION);
 * ```
 *
 * Purposes are shared by the whole process. The same file may declare a purpose again, because a module can be loaded
 * twice.
 *
 * @param name well-formed text of 1 to 256 bytes, which no other feature uses; begin it with your package's name
 * @throws `E_INVALID_CONFIGURATION` with both locations if another file declares the name, or if it is not a valid name
 */
export function declareKeyPurpose(name: string): KeyPurpose {
  const place = new SourceLocation(declareKeyPurpose);
  const label = `feature/${requireName(name)}`;
  const other = places.get(label);
  if (other !== undefined && (other.file === null || other.file !== place.file)) {
    const problem = `the key purpose "${name}" is already declared by ${other}.`;
    throw new ConfigurationError(String(place), problem, "Give one of them another name.");
  }
  places.set(label, place);
  return new KeyPurpose(label);
}

/** The maximum length of a purpose's name, in bytes. Node.js limits HKDF's label to 1024. */
const MAX_PURPOSE_BYTES = 256;
const KEY_BYTES = 32;

/**
 * Derives the key for one purpose from the application's secret: HKDF-SHA256 (RFC 5869) with the purpose as its label,
 * so no two purposes share a key. A string always names a purpose of the application. Features' purposes are values,
 * and their labels have a separate namespace.
 *
 * @param secret at least 32 bytes of randomness, as text
 * @param purpose the key's purpose: a feature's, or a string chosen by the application
 * @returns a key of 32 bytes
 * @throws `E_WEAK_SECRET`; `E_INVALID_CONFIGURATION` if the string is not a valid name for a purpose
 */
export function deriveKey(secret: string, purpose: KeyPurpose | string): KeyObject {
  requireSecret(secret, `the key for "${purpose}"`);
  // The label begins with a name and a version, so that other software with the same secret derives different keys, and
  // a later scheme can differ from this one.
  const bytes = hkdfSync("sha256", secret, "", `ashlar/1/${labelOf(purpose)}`, KEY_BYTES);
  return createSecretKey(new Uint8Array(bytes));
}

/**
 * Returns a purpose's unique label. The application's purposes and the features' have separate namespaces.
 *
 * @throws `E_INVALID_CONFIGURATION` if a string is not a valid name for a purpose
 */
export function labelOf(purpose: KeyPurpose | string): string {
  if (purpose instanceof KeyPurpose) return String(purpose);
  return `application/${requireName(purpose)}`;
}

function requireName(name: string): string {
  // Lone surrogates would all become the same character.
  const isName = typeof name === "string" && name !== "" && name.isWellFormed();
  if (isName && Buffer.byteLength(name) <= MAX_PURPOSE_BYTES) return name;
  const problem = `The purpose of a key must be well-formed text of 1 to ${MAX_PURPOSE_BYTES} bytes`;
  throw new AshlarError("E_INVALID_CONFIGURATION", `${problem}, such as "invitation".`);
}

/**
 * Derives the purpose's key from each secret: the current one first, then its predecessors.
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
