import { createHmac, type KeyObject } from "node:crypto";
import { deriveKeys, digest, KeyPurpose } from "../../security/index.ts";
import { nowInSeconds, REPEAT_PERIOD_SECONDS, REPEAT_SECONDS, repeatPeriodOf } from "../../support/index.ts";
import type { LoginStore } from "./login-store.ts";

export const LOGIN_SUCCESSOR: KeyPurpose = new KeyPurpose("login-successor");

/**
 * Derives the token that replaces a login's token: an HMAC of the token and the time, with a key of the application.
 *
 * If the response with the new cookie is lost, the browser presents the old one again. For about a minute, its
 * successor is then derived again, in any process, from the browser's token; only the digest of the new token is
 * stored.
 */
export class LoginSuccessors {
  /** The current key comes first. */
  readonly #keys: readonly [KeyObject, ...KeyObject[]];

  /**
   * @param secret the application's key
   * @param previous the keys that it has replaced
   */
  constructor(secret: string, previous: readonly string[]) {
    this.#keys = deriveKeys(secret, previous, LOGIN_SUCCESSOR);
  }

  /** The token that replaces another one now. */
  of(token: string): string {
    return derive(this.#keys[0], token, repeatPeriodOf(nowInSeconds()));
  }

  /**
   * The token that has replaced another one in about the last minute, if it is still a login's.
   *
   * @returns `null` if there isn't one
   */
  async find(store: LoginStore, guard: string, replaced: string): Promise<string | null> {
    const successors = new Map(this.#candidates(replaced).map((token) => [digest(token), token]));
    const tokenHash = await store.findToken(guard, [...successors.keys()]);
    return tokenHash === null ? null : (successors.get(tokenHash) ?? null);
  }

  #candidates(replaced: string): string[] {
    // The clock of the process that replaced it may be ahead a little.
    const newest = repeatPeriodOf(nowInSeconds()) + REPEAT_PERIOD_SECONDS;
    const oldest = newest - REPEAT_PERIOD_SECONDS - REPEAT_SECONDS;
    const periods = Array.from(
      { length: (newest - oldest) / REPEAT_PERIOD_SECONDS + 1 },
      (_, n) => newest - n * REPEAT_PERIOD_SECONDS,
    );
    return this.#keys.flatMap((key) => periods.map((period) => derive(key, replaced, period)));
  }
}

function derive(key: KeyObject, token: string, period: number): string {
  return createHmac("sha256", key).update(`${period}.${token}`).digest("base64url");
}
