import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import { deriveKey } from "../security/index.ts";

const MASK_BYTES = 32;
/** 64 bytes in base64url. */
const TOKEN = /^[\w-]{86}$/;

/**
 * Makes and checks the tokens that prove a form to be one of the application's own pages.
 *
 * A token is bound to a session: the HMAC of the session's id. It goes out under a mask, other bytes each time, so that
 * no guessing from the length of a compressed page (BREACH) finds it.
 */
export class CsrfTokens {
  readonly #key: KeyObject;

  /**
   * @param secret the application's
   * @throws `E_WEAK_SECRET`
   */
  constructor(secret: string) {
    this.#key = deriveKey(secret, "csrf") as KeyObject;
  }

  /** A token for a session's pages: 86 characters of base64url, others each time. */
  issue(sessionId: string): string {
    const mask = randomBytes(MASK_BYTES);
    return Buffer.concat([mask, xor(mask, this.#expected(sessionId))]).toString("base64url");
  }

  /** Tells whether a token was issued for a session. The time it takes does not depend on where it differs. */
  matches(sessionId: string, token: unknown): boolean {
    if (typeof token !== "string" || !TOKEN.test(token)) return false;
    const bytes = Buffer.from(token, "base64url");
    const presented = xor(bytes.subarray(0, MASK_BYTES), bytes.subarray(MASK_BYTES));
    return timingSafeEqual(presented, this.#expected(sessionId));
  }

  #expected(sessionId: string): Buffer {
    return createHmac("sha256", this.#key).update(sessionId).digest();
  }
}

function xor(mask: Buffer, bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, index) => byte ^ mask[index]!));
}
