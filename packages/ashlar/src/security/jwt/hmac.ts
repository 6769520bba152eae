import { hash, timingSafeEqual } from "node:crypto";
import type { HmacAlgorithm } from "./algorithms.ts";

/** The length of the longest message that fits in the prepared buffer, in bytes. */
const PREPARED_BYTES = 8192;

/**
 * HMAC (RFC 2104) over one key, prepared for many short messages.
 *
 * It uses Node's one-shot hash, because `createHmac` creates a stream and looks up the hash for every message. For a
 * message as short as a token, that makes hashing more expensive by a third to four fifths.
 */
export class Hmac {
  readonly #hash: HmacAlgorithm["hash"];
  readonly #blockBytes: number;
  /** The key XOR ipad, followed by room for the message. */
  readonly #inner: Buffer;
  /** The key XOR opad, followed by room for the inner hash. */
  readonly #outer: Buffer;
  readonly #computed: Buffer;
  readonly #presented: Buffer;

  /** @param key the secret, of any length; the caller decides whether it is strong enough */
  constructor(algorithm: HmacAlgorithm, key: Uint8Array) {
    this.#hash = algorithm.hash;
    this.#blockBytes = algorithm.blockBytes;
    const fitted = key.length > algorithm.blockBytes ? hash(algorithm.hash, key, "buffer") : key;
    this.#inner = Buffer.alloc(algorithm.blockBytes + PREPARED_BYTES, 0x36);
    this.#outer = Buffer.alloc(algorithm.blockBytes + algorithm.hashBytes, 0x5c);
    for (const [index, byte] of fitted.entries()) {
      this.#inner[index] = byte ^ 0x36;
      this.#outer[index] = byte ^ 0x5c;
    }
    const encodedBytes = Math.ceil((algorithm.hashBytes * 4) / 3);
    this.#computed = Buffer.alloc(encodedBytes);
    this.#presented = Buffer.alloc(encodedBytes);
  }

  /** Returns the code of a message as base64url. */
  compute(message: string | Uint8Array): string {
    const bytes = typeof message === "string" ? Buffer.from(message) : message;
    if (bytes.length > PREPARED_BYTES) {
      return this.#finish(Buffer.concat([this.#inner.subarray(0, this.#blockBytes), bytes]));
    }
    this.#inner.set(bytes, this.#blockBytes);
    return this.#finish(this.#inner.subarray(0, this.#blockBytes + bytes.length));
  }

  /**
   * Reports whether the part of a token after its second dot is the code of the part before it, in constant time.
   *
   * The codes are compared as base64url text, so only the canonical encoding of the right code matches.
   */
  verifies(token: string, dot: number): boolean {
    if (token.length - dot - 1 !== this.#presented.length) return false;
    let code: string;
    if (dot > PREPARED_BYTES) {
      code = this.compute(token.slice(0, dot));
    } else {
      // If there are fewer bytes than characters, a non-ASCII character was skipped, and a byte of an earlier token
      // remains.
      if (this.#inner.write(token, this.#blockBytes, dot) !== dot) return false;
      code = this.#finish(this.#inner.subarray(0, this.#blockBytes + dot));
    }
    if (this.#presented.write(token.slice(dot + 1)) !== this.#presented.length) return false;
    this.#computed.write(code);
    return timingSafeEqual(this.#presented, this.#computed);
  }

  #finish(inner: Uint8Array): string {
    this.#outer.write(hash(this.#hash, inner, "latin1"), this.#blockBytes, "latin1");
    return hash(this.#hash, this.#outer, "base64url");
  }
}
