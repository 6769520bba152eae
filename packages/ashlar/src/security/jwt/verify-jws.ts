import { decodeBase64url } from "./base64url.ts";
import { openJws } from "./compact.ts";
import { JwtError } from "./errors.ts";
import type { JwsHeader, VerificationKey } from "./keys.ts";
import { maxBytesOf } from "./verify-options.ts";

/** How a JWS is verified. */
export interface JwsVerifyOptions {
  /** The longest token that is looked at, in bytes; 8192 where left out. */
  readonly maxBytes?: number;
}

/** A JWS whose signature is right. */
export interface VerifiedJws {
  /** The protected header. Its `alg` is the key's; nothing else in it was checked. */
  readonly header: JwsHeader;
  readonly payload: Uint8Array;
  /** Which of the keys the signature was made with. */
  readonly key: VerificationKey;
}

/**
 * Verifies a compact JWS of any payload (RFC 7515 §5.2).
 *
 * Security: a signature says who made the bytes, not what for. Where several kinds of tokens share a key, check the
 * header's `typ`.
 *
 * @param keys one key, or several while keys are exchanged: any of them may have signed
 * @throws {@link JwtError} (`E_JWT_INVALID`) where the token is not valid; `E_JWT_KEY` where the keys cannot be used;
 *   `E_INVALID_CONFIGURATION` where `maxBytes` cannot
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
