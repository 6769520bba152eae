import type { JwtAlgorithm } from "./algorithms.ts";
import { decodeBase64url } from "./base64url.ts";
import { openJws } from "./compact.ts";
import { JwtError } from "./errors.ts";
import type { VerificationKey } from "./keys.ts";
import { maxBytesOf } from "./verify-options.ts";

/** Options for verifying a JWS. */
export interface JwsVerifyOptions {
  /** The longest token accepted, in bytes; default: 8192. */
  readonly maxBytes?: number;
}

/**
 * Verifies a compact JWS with any payload (RFC 7515 §5.2).
 *
 * Security: a signature shows who made the bytes, not their purpose. If several kinds of tokens share a key, check
 * the header's `typ`.
 *
 * @param keys one key, or several during a key rotation: any of them may have signed
 * @returns the payload; the protected header, of which only `alg` has been checked; and the key that the signature was made with
 * @throws {@link JwtError} (`E_JWT_INVALID`) if the token is not valid; `E_JWT_KEY` if the keys cannot be used;
 *   `E_INVALID_CONFIGURATION` if `maxBytes` is invalid
 */
export function verifyJws(
  token: string,
  keys: VerificationKey | readonly VerificationKey[],
  options: JwsVerifyOptions = {},
): {
  readonly header: { readonly alg: JwtAlgorithm; readonly typ?: unknown; readonly [name: string]: unknown };
  readonly payload: Uint8Array;
  readonly key: VerificationKey;
} {
  const opened = openJws(token, keys, maxBytesOf(options));
  if (typeof opened === "string") throw new JwtError(opened);
  const payload = decodeBase64url(opened.payload);
  if (payload === null) throw new JwtError("malformed");
  return { header: opened.header, payload, key: opened.key };
}
