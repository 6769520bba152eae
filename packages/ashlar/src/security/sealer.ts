import { createCipheriv, createDecipheriv, createHmac, type KeyObject } from "node:crypto";
import { AshlarError, now } from "../support/index.ts";
import { takeRandomBytes } from "./digest.ts";
import { decodeBase64url, decodeUtf8 } from "./jwt/encoding.ts";
import { deriveKeys, type KeyPurpose, labelOf } from "./keys.ts";
import type { RotationOptions } from "./signer.ts";
import "./errors.ts";

const CIPHER = "aes-256-gcm";
const SALT_BYTES = 12;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const TIME_BYTES = 6;
const MAX_VALUE_BYTES = 8192;
const OVERHEAD_BYTES = SALT_BYTES + IV_BYTES + TIME_BYTES + TAG_BYTES;
const MAX_SEALED_LENGTH = Math.ceil(((MAX_VALUE_BYTES + OVERHEAD_BYTES) * 4) / 3);
/** How far ahead another machine's clock may be, in seconds. */
const CLOCK_SKEW_MS = 60_000;

/**
 * Seals values that a browser can keep, but not read or change. Uses AES-256-GCM (NIST SP 800-38D). A sealed value is
 * bound to a purpose and a name, and contains its time of issue.
 *
 * Each value is encrypted with its own key, derived from the purpose's key and 12 random bytes. With random
 * initialization vectors under a single key, GCM would be safe for at most 2³² values.
 */
export class Sealer {
  readonly #keys: readonly [KeyObject, ...KeyObject[]];
  readonly #label: string;

  /**
   * @param secret at least 32 bytes of randomness, as text
   * @param purpose the values' purpose, as for a `Signer`; values sealed for another purpose can't be opened
   * @throws `E_WEAK_SECRET`; `E_INVALID_CONFIGURATION` unless the purpose is well-formed text of 1 to 256 bytes
   */
  constructor(secret: string, purpose: KeyPurpose | string, options: RotationOptions = {}) {
    this.#keys = deriveKeys(secret, options.previousSecrets ?? [], purpose);
    this.#label = labelOf(purpose);
  }

  /**
   * Seals a value under a name, under which alone it can be opened.
   *
   * @param name for example, the name of the cookie for the value
   * @param value well-formed text of at most 8192 bytes in UTF-8
   * @returns URL-safe text, a third longer than the value, plus about 60 characters
   * @throws `E_INVALID_VALUE` if the value is larger or not well-formed
   */
  seal(name: string, value: string): string {
    if (!value.isWellFormed() || Buffer.byteLength(value) > MAX_VALUE_BYTES) {
      throw new AshlarError(
        "E_INVALID_VALUE",
        `A value to seal must be well-formed text of at most ${MAX_VALUE_BYTES} bytes.`,
      );
    }
    return this.sealBytes(name, Buffer.from(value));
  }

  /**
   * @internal Seals bytes of any length, for {@link openBytes}. The results may be too long for cookies, and are meant
   * for tables.
   */
  sealBytes(name: string, value: Uint8Array): string {
    const salt = takeRandomBytes(SALT_BYTES);
    const iv = takeRandomBytes(IV_BYTES);
    const issued = Buffer.alloc(TIME_BYTES);
    issued.writeUIntBE(now(), 0, TIME_BYTES);
    const cipher = createCipheriv(CIPHER, messageKey(this.#keys[0], salt), iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(this.#boundTo(name));
    const sealed = [salt, iv, cipher.update(issued), cipher.update(value), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString("base64url");
  }

  /**
   * Opens a sealed value.
   *
   * @param name the name that it was sealed under
   * @param sealed the text to open
   * @param maxAgeSeconds the maximum age in seconds; finite, and above 0
   * @returns the value, or `null` if it was altered, is too old, or was not sealed with these secrets under this name
   * @throws `E_INVALID_CONFIGURATION` if `maxAgeSeconds` is not a finite number above 0
   */
  open(name: string, sealed: string, maxAgeSeconds: number): string | null {
    if (!(maxAgeSeconds > 0 && maxAgeSeconds < Number.POSITIVE_INFINITY)) {
      throw new AshlarError(
        "E_INVALID_CONFIGURATION",
        "The age limit of a sealed value must be a finite number above 0.",
      );
    }
    if (sealed.length > MAX_SEALED_LENGTH) return null;
    const plain = this.#open(name, sealed);
    if (plain === null) return null;
    const age = now() - plain.readUIntBE(0, TIME_BYTES);
    if (age >= maxAgeSeconds * 1000 || age < -CLOCK_SKEW_MS) return null;
    return decodeUtf8(plain.subarray(TIME_BYTES));
  }

  /**
   * @internal Opens bytes that {@link sealBytes} sealed under this name, whatever their age.
   *
   * @returns `null` if it was altered, or not sealed with these secrets under this name
   */
  openBytes(name: string, sealed: string): Buffer | null {
    return this.#open(name, sealed)?.subarray(TIME_BYTES) ?? null;
  }

  /** The time of issue and the value. */
  #open(name: string, sealed: string): Buffer | null {
    const bytes = decodeBase64url(sealed);
    if (bytes === null || bytes.length < OVERHEAD_BYTES) return null;
    return this.#decrypt(bytes, this.#boundTo(name));
  }

  #decrypt(bytes: Buffer, boundTo: Buffer): Buffer | null {
    const salt = bytes.subarray(0, SALT_BYTES);
    const iv = bytes.subarray(SALT_BYTES, SALT_BYTES + IV_BYTES);
    for (const key of this.#keys) {
      const decipher = createDecipheriv(CIPHER, messageKey(key, salt), iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(boundTo).setAuthTag(bytes.subarray(-TAG_BYTES));
      const plain = decipher.update(bytes.subarray(SALT_BYTES + IV_BYTES, -TAG_BYTES));
      try {
        // Don't use any decrypted byte before the tag has been checked.
        return Buffer.concat([plain, decipher.final()]);
      } catch {
        // The tag does not match this key. The value may have been sealed with an older key.
      }
    }
    return null;
  }

  #boundTo(name: string): Buffer {
    return Buffer.from(`${this.#label}\0${name}`);
  }
}

function messageKey(key: KeyObject, salt: Buffer): Buffer {
  return createHmac("sha256", key).update(salt).digest();
}
