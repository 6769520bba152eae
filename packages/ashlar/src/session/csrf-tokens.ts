import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import { deriveKeys, KeyPurpose, type RotationOptions } from "../security/index.ts";

const CSRF = new KeyPurpose("csrf");
const MASK_BYTES = 32;
/** 64 bytes in base64url. */
const TOKEN = /^[\w-]{86}$/;

/**
 * Issues and checks the tokens that prove that a form comes from one of the application's own pages.
 *
 * A token is bound to a session: it is the HMAC of the session's id. It is masked with different random bytes each
 * time, so that the length of a compressed page reveals nothing about it (BREACH).
 */
export class CsrfTokens {
  readonly #keys: readonly [KeyObject, ...KeyObject[]];

  /**
   * @param secret the application's key
   * @param options previous keys: forms on pages rendered with them can still be sent
   * @throws `E_WEAK_SECRET`
   */
  constructor(secret: string, options: RotationOptions = {}) {
    this.#keys = deriveKeys(secret, options.previousSecrets ?? [], CSRF);
  }

  /** A token for a session's pages: 86 characters of base64url, different each time. */
  issue(sessionId: string): string {
    const mask = randomBytes(MASK_BYTES);
    return Buffer.concat([mask, xor(mask, expected(sessionId, this.#keys[0]))]).toString("base64url");
  }

  /**
   * Reports whether a token was issued for a session. The time this takes depends neither on where the token differs
   * nor on which key it was made with.
   */
  matches(sessionId: string, token: unknown): boolean {
    if (typeof token !== "string" || !TOKEN.test(token)) return false;
    const bytes = Buffer.from(token, "base64url");
    const presented = xor(bytes.subarray(0, MASK_BYTES), bytes.subarray(MASK_BYTES));
    // All keys are tried, even after a match: `some` would stop at the first.
    const matching = this.#keys.filter((key) => timingSafeEqual(presented, expected(sessionId, key)));
    return matching.length > 0;
  }
}

function expected(sessionId: string, key: KeyObject): Buffer {
  return createHmac("sha256", key).update(sessionId).digest();
}

function xor(mask: Buffer, bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, index) => byte ^ mask[index]!));
}
