import { createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { requireSecret } from "./secrets.ts";

/** What a key is for. A value made for one purpose means nothing to any other. */
export type KeyPurpose =
  | "email-verification"
  | "email-change-undo"
  | "password-reset"
  | "session"
  | "csrf"
  | "signed-url"
  | "device";

const KEY_BYTES = 32;

/**
 * Derives the key of one purpose from the application's secret: HKDF-SHA256 (RFC 5869) with the purpose as its label,
 * so that no two purposes share a key.
 *
 * @param secret at least 32 bytes of randomness, as text
 * @param label what the key is for
 * @returns a key of 32 bytes
 * @throws `E_WEAK_SECRET`
 */
export function deriveKey(secret: string, label: KeyPurpose): KeyObject {
  requireSecret(secret, `the key for "${label}"`);
  // The label begins with a name and a version, so that another program with the same secret derives other keys, and
  // so that a later scheme can part from this one.
  const bytes = hkdfSync("sha256", secret, "", `ashlar/1/${label}`, KEY_BYTES);
  return createSecretKey(new Uint8Array(bytes));
}

/**
 * Derives one purpose's key from each secret: the current one first, then those it replaced.
 *
 * @throws `E_WEAK_SECRET`
 */
export function deriveKeys(
  secret: string,
  previous: readonly string[],
  label: KeyPurpose,
): [KeyObject, ...KeyObject[]] {
  return [deriveKey(secret, label), ...previous.map((one) => deriveKey(one, label))];
}
