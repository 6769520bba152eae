import { AshlarError, now, nowInSeconds } from "../support/index.ts";
import { decodeBase64Url, decodeUtf8 } from "./base64url.ts";
import { HMAC_SHA256 } from "./jwt/algorithms.ts";
import { Hmac } from "./jwt/hmac.ts";
import { deriveKeys, type KeyPurpose } from "./keys.ts";

const MAX_VALUE_BYTES = 4096;
const MAX_TOKEN_LENGTH = 5600;
const EXPIRY = /^[1-9]\d{0,15}$/;

/** How a {@link Signer} or a sealer knows older values. */
export interface RotationOptions {
  /** Secrets that were in use before: what was made with them is still accepted, nothing new is made with them. */
  readonly previousSecrets?: readonly string[];
}

/** What a signed value carries beyond itself. */
export interface SignOptions {
  /** How long it is valid, in seconds, greater than 0; for good where left out. */
  readonly expiresInSeconds?: number;
}

function expiry(seconds: number): number {
  const at = Math.floor(now() / 1000 + seconds);
  if (!(seconds > 0) || !Number.isSafeInteger(at)) {
    throw new AshlarError(
      "E_INVALID_CONFIGURATION",
      "A signed value expires after a finite number of seconds above 0.",
    );
  }
  return at;
}

/**
 * Signs values so that they can travel through a browser and be recognised: HMAC-SHA256 with the key of one purpose.
 *
 * A token is `value.signature` or `value.expiry.signature`, URL-safe: the value and the signature in base64url, the
 * expiry in seconds since the epoch.
 *
 * Security: a signed value can be read by whoever holds it; what must not be read is sealed with a `Sealer`.
 */
export class Signer {
  /** The current key's first, which signs; the others only verify. */
  readonly #hmacs: readonly Hmac[];

  /**
   * @param secret at least 32 bytes of randomness, as text
   * @param purpose what the values are for; another purpose's values do not verify
   * @throws `E_WEAK_SECRET`
   */
  constructor(secret: string, purpose: KeyPurpose, options: RotationOptions = {}) {
    const keys = deriveKeys(secret, options.previousSecrets ?? [], purpose);
    this.#hmacs = keys.map((key) => new Hmac(HMAC_SHA256, key.export()));
  }

  /**
   * Signs a value.
   *
   * @param value well-formed text of at most 4096 bytes in UTF-8
   * @throws `E_INVALID_VALUE` where the value is larger or not well-formed; `E_INVALID_CONFIGURATION` where
   * `expiresInSeconds` is not a finite number above 0
   */
  sign(value: string, options: SignOptions = {}): string {
    if (!value.isWellFormed() || Buffer.byteLength(value) > MAX_VALUE_BYTES) {
      throw new AshlarError(
        "E_INVALID_VALUE",
        `A value to sign is well-formed text of at most ${MAX_VALUE_BYTES} bytes.`,
      );
    }
    const encoded = Buffer.from(value).toString("base64url");
    const body = options.expiresInSeconds === undefined ? encoded : `${encoded}.${expiry(options.expiresInSeconds)}`;
    return `${body}.${this.#hmacs[0]!.compute(body)}`;
  }

  /** The value that a token carries, or `null` where it was altered, has expired, or was not made here for this. */
  verify(token: string): string | null {
    if (token.length > MAX_TOKEN_LENGTH) return null;
    const end = token.lastIndexOf(".");
    if (end === -1 || !this.#hmacs.some((hmac) => hmac.verifies(token, end))) return null;
    const [encoded, expires, ...rest] = token.slice(0, end).split(".") as [string, ...string[]];
    if (rest.length > 0 || (expires !== undefined && !isAhead(expires))) return null;
    const bytes = decodeBase64Url(encoded);
    return bytes === null ? null : decodeUtf8(bytes);
  }
}

function isAhead(expires: string): boolean {
  return EXPIRY.test(expires) && nowInSeconds() < Number(expires);
}
