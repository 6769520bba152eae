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
 * Seals values so that a browser can keep them but not read or change them. Uses AES-256-GCM (NIST SP 800-38D), bound
 * to a purpose and a name, with the time of issue inside.
 *
 * Each value is encrypted with its own key, derived from the purpose's key and 12 random bytes. With random
 * initialization vectors under a single key, GCM would be safe for at most 2³² values.
 */
export class Sealer {
  readonly #keys: readonly [KeyObject, ...KeyObject[]];
  readonly #label: string;

  /**
   * @param secret at least 32 bytes of randomness, as text
   * @param purpose the values' purpose, as for a `Signer`; values sealed for another purpose do not open
   * @throws `E_WEAK_SECRET`; `E_INVALID_CONFIGURATION` unless the purpose is well-formed text of 1 to 256 bytes
   */
  constructor(secret: string, purpose: KeyPurpose | string, options: RotationOptions = {}) {
    this.#keys = deriveKeys(secret, options.previousSecrets ?? [], purpose);
    this.#label = labelOf(purpose);
  }

  /**
   * Seals a value under a name; it opens only under that name.
   *
   * @param name such as the name of the cookie that will carry it
   * @param value well-formed text of at most 8192 bytes in UTF-8
   * @returns URL-safe text, longer than the value by a third and some 60 characters
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
   * @internal Seals bytes of any length, for {@link openBytes}. The results are too long for cookies, but can be stored
   * in tables.
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
   * @param name the name it was sealed under
   * @param sealed the text to open
   * @param maxAgeSeconds how old it may be, in seconds; finite and above 0
   * @returns the value, or `null` if it was altered, is too old, or was not sealed here under this name
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
   * @internal Opens what {@link sealBytes} sealed under this name, whatever its age.
   *
   * @returns `null` if it was altered, or not sealed here under this name
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
        // Don't look at any decrypted byte before the tag has been checked.
        return Buffer.concat([plain, decipher.final()]);
      } catch {
        // The tag does not match this key; an older key may have sealed the value.
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
