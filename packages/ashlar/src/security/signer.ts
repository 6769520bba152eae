import { AshlarError, now, nowInSeconds } from "../support/index.ts";
import { HMAC_SHA256 } from "./jwt/algorithms.ts";
import { decodeBase64url, decodeUtf8 } from "./jwt/encoding.ts";
import { Hmac } from "./jwt/hmac.ts";
import { deriveKeys, type KeyPurpose } from "./keys.ts";
import "./errors.ts";

const MAX_VALUE_BYTES = 4096;
const MAX_TOKEN_LENGTH = 5600;
const EXPIRY = /^[1-9]\d{0,15}$/;

/** Options for accepting older values in a {@link Signer} or a sealer. */
export interface RotationOptions {
  /** Former secrets. Values created with them are still accepted, but no new ones are created with them. */
  readonly previousSecrets?: readonly string[];
}

/** Additional data in a signed value. */
export interface SignOptions {
  /** How long it is valid, in seconds, greater than 0; default: it never expires. */
  readonly expiresInSeconds?: number;
}

function expiry(seconds: number): number {
  const at = Math.floor(now() / 1000 + seconds);
  if (!(seconds > 0) || !Number.isSafeInteger(at)) {
    throw new AshlarError(
      "E_INVALID_CONFIGURATION",
      "expiresInSeconds of a signed value must be a finite number above 0.",
    );
  }
  return at;
}

/**
 * Signs values that pass through a browser, to recognize them afterwards: HMAC-SHA256 with a key for one purpose.
 *
 * A token is `value.signature` or `value.expiry.signature`, URL-safe: the value and the signature in base64url, the
 * expiry in seconds since the epoch.
 *
 * ```ts
 * const { key, previousKeys: previousSecrets } = application.settings;
 * const signer = new Signer(key, "invitation", { previousSecrets });
 * const token = signer.sign("ada@example.com", { expiresInSeconds: 86_400 });
 * ```
 *
 * Security: anyone who has a signed value can read it. Seal secrets with a `Sealer`.
 */
export class Signer {
  /** The current key, which signs, is the first. The others only verify. */
  readonly #hmacs: readonly Hmac[];

  /**
   * @param secret at least 32 bytes of randomness, as text
   * @param purpose the values' purpose, such as `"invitation"`; values signed for another purpose, including the
   * framework's, do not verify. A feature in a package declares its own: `declareKeyPurpose("shop-invitation")`.
   * @throws `E_WEAK_SECRET`; `E_INVALID_CONFIGURATION` unless the purpose is well-formed text of 1 to 256 bytes
   */
  constructor(secret: string, purpose: KeyPurpose | string, options: RotationOptions = {}) {
    const keys = deriveKeys(secret, options.previousSecrets ?? [], purpose);
    this.#hmacs = keys.map((key) => new Hmac(HMAC_SHA256, key.export()));
  }

  /**
   * Signs a value.
   *
   * @param value well-formed text of at most 4096 bytes in UTF-8
   * @throws `E_INVALID_VALUE` if the value is larger or not well-formed; `E_INVALID_CONFIGURATION` if
   *   `expiresInSeconds` is not a finite number above 0
   */
  sign(value: string, options: SignOptions = {}): string {
    if (!value.isWellFormed() || Buffer.byteLength(value) > MAX_VALUE_BYTES) {
      throw new AshlarError(
        "E_INVALID_VALUE",
        `A value to sign must be well-formed text of at most ${MAX_VALUE_BYTES} bytes.`,
      );
    }
    const encoded = Buffer.from(value).toString("base64url");
    const body = options.expiresInSeconds === undefined ? encoded : `${encoded}.${expiry(options.expiresInSeconds)}`;
    return `${body}.${this.#hmacs[0]!.compute(body)}`;
  }

  /**
   * Returns a token's value, or `null` if it was altered, has expired, or was not signed with these secrets for this
   * purpose.
   */
  verify(token: string): string | null {
    if (token.length > MAX_TOKEN_LENGTH) return null;
    const end = token.lastIndexOf(".");
    if (end === -1 || !this.#hmacs.some((hmac) => hmac.verifies(token, end))) return null;
    const [encoded, expires, ...rest] = token.slice(0, end).split(".") as [string, ...string[]];
    if (rest.length > 0 || (expires !== undefined && !isAhead(expires))) return null;
    const bytes = decodeBase64url(encoded);
    return bytes === null ? null : decodeUtf8(bytes);
  }
}

function isAhead(expires: string): boolean {
  return EXPIRY.test(expires) && nowInSeconds() < Number(expires);
}
