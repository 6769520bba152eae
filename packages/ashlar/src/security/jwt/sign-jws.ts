import { AshlarError } from "../../support/index.ts";
import { encodeBase64url } from "./base64url.ts";
import { objectSegment, requirePlainObject } from "./json.ts";
import type { SigningKey } from "./keys.ts";
import "./errors.ts";

/** Members of a protected header other than `alg`, which the key determines. */
export interface JwsHeaderMembers {
  /** The type of the whole JWS (RFC 7515 §4.1.9). */
  readonly typ?: string;
  /** The type of the payload, if it is not a set of claims (RFC 7515 §4.1.10). */
  readonly cty?: string;
  /** The name of the key, for other verifiers (RFC 7515 §4.1.4). */
  readonly kid?: string;
  readonly [name: string]: unknown;
}

/** Members that verification refuses, and `alg`, which the caller must not choose. */
const FORBIDDEN_MEMBERS: readonly string[] = ["alg", "crit", "b64", "__proto__"];

/**
 * Signs any payload: a compact JWS (RFC 7515 §3.1).
 *
 * Security: the payload is signed, not encrypted; anyone who sees the token can read it.
 *
 * @param payload bytes, or text to be encoded as UTF-8
 * @param header members of the protected header other than `alg`
 * @throws `E_JWT_CLAIMS` if the header contains `alg`, `crit` or `b64`, or cannot be written as JSON
 */
export function signJws(payload: string | Uint8Array, key: SigningKey, header: JwsHeaderMembers = {}): string {
  requirePlainObject(header, "header");
  for (const name of FORBIDDEN_MEMBERS) {
    if (Object.hasOwn(header, name)) throw new AshlarError("E_JWT_CLAIMS", `The header cannot contain "${name}".`);
  }
  const segment = objectSegment({ alg: key.algorithm, ...header }, "header");
  return signSegments(segment, encodeBase64url(payload), key);
}

/** Signs a header and a payload that are already encoded. */
export function signSegments(header: string, payload: string, key: SigningKey): string {
  const input = `${header}.${payload}`;
  return `${input}.${key.sign(input)}`;
}
