import { decodeBase64url } from "./base64url.ts";
import { openJws } from "./compact.ts";
import { JwtError } from "./errors.ts";
import type { JwsHeader, VerificationKey } from "./keys.ts";
import { maxBytesOf } from "./verify-options.ts";

/** How a JWS is verified. */
export interface JwsVerifyOptions {
  /** The longest token accepted, in bytes; default: 8192. */
  readonly maxBytes?: number;
}

/** A JWS with a valid signature. */
export interface VerifiedJws {
  /** The protected header. Its `alg` matches the key's; nothing else in it has been checked. */
  readonly header: JwsHeader;
  readonly payload: Uint8Array;
  /** The key that the signature was made with. */
  readonly key: VerificationKey;
}

/**
 * Verifies a compact JWS with any payload (RFC 7515 §5.2).
 *
 * Security: a signature shows who made the bytes, not what they are for. If several kinds of tokens share a key, check
 * the header's `typ`.
 *
 * @param keys one key, or several during a key rotation: any of them may have signed
 * @throws {@link JwtError} (`E_JWT_INVALID`) if the token is not valid; `E_JWT_KEY` if the keys cannot be used;
 *   `E_INVALID_CONFIGURATION` if `maxBytes` is invalid
 */
export function verifyJws(
  token: string,
  keys: VerificationKey | readonly VerificationKey[],
  options: JwsVerifyOptions = {},
): VerifiedJws {
  const opened = openJws(token, keys, maxBytesOf(options));
  if (typeof opened === "string") throw new JwtError(opened);
  const payload = decodeBase64url(opened.payload);
  if (payload === null) throw new JwtError("malformed");
  return { header: opened.header, payload, key: opened.key };
}
