import { AshlarError } from "../../support/index.ts";
import { encodeBase64url } from "./base64url.ts";
import { objectSegment, requirePlainObject } from "./json.ts";
import type { SigningKey } from "./keys.ts";

/** Members of a protected header besides `alg`, which is the key's. */
export interface JwsHeaderMembers {
  /** What the payload as a whole is (RFC 7515 §4.1.9). */
  readonly typ?: string;
  /** What the payload is, where it is no set of claims (RFC 7515 §4.1.10). */
  readonly cty?: string;
  /** The name of the key, for those who verify elsewhere (RFC 7515 §4.1.4). */
  readonly kid?: string;
  readonly [name: string]: unknown;
}

/** What the verification refuses to read, and `alg`, which is not the caller's to say. */
const FORBIDDEN_MEMBERS: readonly string[] = ["alg", "crit", "b64", "__proto__"];

/**
 * Signs any payload: a compact JWS (RFC 7515 §3.1).
 *
 * Security: the payload is signed, not encrypted; whoever sees the token can read it.
 *
 * @param payload bytes, or a text by its UTF-8
 * @param header members of the protected header besides `alg`
 * @throws `E_JWT_CLAIMS` where the header holds `alg`, `crit` or `b64`, or cannot be written as JSON
 */
export function signJws(payload: string | Uint8Array, key: SigningKey, header: JwsHeaderMembers = {}): string {
  requirePlainObject(header, "header");
  for (const name of FORBIDDEN_MEMBERS) {
    if (Object.hasOwn(header, name)) throw new AshlarError("E_JWT_CLAIMS", `The header cannot hold "${name}".`);
  }
  const segment = objectSegment({ alg: key.algorithm, ...header }, "header");
  return signSegments(segment, encodeBase64url(payload), key);
}

/** Signs a header and a payload that are encoded already. */
export function signSegments(header: string, payload: string, key: SigningKey): string {
  const input = `${header}.${payload}`;
  return `${input}.${key.sign(input)}`;
}
