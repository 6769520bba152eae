import { createPublicKey, verify } from "node:crypto";

// The stand-in for WebAuthn: what it says in CBOR, and signs in parts, is one JSON text here.

/** An authenticator's statement. */
export interface Assertion {
  /** The id of the passkey. */
  readonly credential: string;
  readonly challenge: string;
  /** How often the passkey was used: it grows with each use, unless there is a copy. */
  readonly counter: number;
  /** Whether the authenticator has verified its user, by a fingerprint or a PIN. */
  readonly userVerified: boolean;
  /** The public key of a new passkey, as SPKI in base64; empty otherwise. */
  readonly publicKey: string;
  /** Reports whether the key with this text has signed it. */
  readonly isSignedBy: (publicKey: string) => boolean;
}

/**
 * Reads an authenticator's statement, without verifying it.
 *
 * @param text the JSON and its signature, both in base64url, separated by a dot
 * @returns `null` if it is not that
 */
export function readAssertion(text: unknown): Assertion | null {
  const [payload, signature, ...rest] = typeof text === "string" ? text.split(".") : [];
  if (payload === undefined || signature === undefined || rest.length > 0) return null;
  const { credential, challenge, counter, userVerified, publicKey = "" } = objectIn(payload);
  if (typeof credential !== "string" || typeof challenge !== "string" || typeof publicKey !== "string") return null;
  if (typeof counter !== "number" || !Number.isSafeInteger(counter) || typeof userVerified !== "boolean") return null;
  const isSignedBy = (key: string) => isSigned(payload, signature, key);
  return { credential, challenge, counter, userVerified, publicKey, isSignedBy };
}

function isSigned(payload: string, signature: string, publicKey: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, "base64"), format: "der", type: "spki" });
    return verify(null, Buffer.from(payload), key, Buffer.from(signature, "base64url"));
  } catch {
    return false;
  }
}

function objectIn(payload: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(Buffer.from(payload, "base64url").toString()));
  } catch {
    return {};
  }
}
