import { randomBytes } from "node:crypto";
import type { Authenticatable } from "../../auth/index.ts";
import type { Authenticators, SecondFactor } from "../../authenticators/index.ts";
import { digest, randomToken } from "../../security/index.ts";
import { toBase32 } from "../codes/base32.ts";

export const RECOVERY_CODE = "recovery_code";
/** How many codes a user gets. */
export const RECOVERY_CODES = 10;
/** From how many on the user is asked to make new ones. */
export const FEW_RECOVERY_CODES = 2;
/** 80 bits, 16 letters: too many to be guessed, so a plain digest is enough. */
const CODE_BYTES = 10;

/** Codes for a user who has lost the app. Each works once. The table has their digests. */
export class RecoveryCodes implements SecondFactor<Authenticatable> {
  readonly amr: readonly string[] = ["otp"];
  readonly field = "recovery_code";
  readonly isGuessable = false;
  readonly #authenticators: Authenticators;

  constructor(authenticators: Authenticators) {
    this.#authenticators = authenticators;
  }

  async has(user: Authenticatable): Promise<boolean> {
    return (await this.left(user)) > 0;
  }

  /** How many codes of a user have not been used. */
  left(user: Authenticatable): Promise<number> {
    return this.#tableOf(user).count(user);
  }

  /** Reports whether a code is the user's, and uses it up: of two requests with the same code, one wins. */
  async accept(user: Authenticatable, typed: string): Promise<boolean> {
    return this.#tableOf(user).delete({ handle: this.#handleOf(user, typed), user_id: user.authId() });
  }

  /**
   * Replaces the codes of a user.
   *
   * Security: show them once, in the response to this request. Don't store them anywhere.
   *
   * @param user as read when the user proved who they are
   * @returns the new codes; `null` if access to the account has ended since
   */
  async renew(user: Authenticatable): Promise<readonly string[] | null> {
    const table = this.#tableOf(user);
    const codes = Array.from({ length: RECOVERY_CODES }, newCode);
    if (!(await this.store(user, codes))) return null;
    // If two requests do this at the same time, the last of them finds what both have stored: one set remains.
    const all = await table.list(user);
    for (const { id, data } of all) if (data !== all[0]?.data) await table.delete({ id });
    return codes;
  }

  /**
   * Adds codes, such as those of another system.
   *
   * Security: a table that was stolen has plain digests of them. Codes of less than 16 letters and digits could be found by trying.
   *
   * @returns whether access to the account hasn't ended since the user was read
   */
  async store(user: Authenticatable, codes: readonly string[]): Promise<boolean> {
    const table = this.#tableOf(user);
    const set = randomToken();
    for (const code of codes) {
      const values = { name: null, data: set, counter: 0, handle: this.#handleOf(user, code) };
      if ((await table.insert(user, values)) === null) return false;
    }
    return true;
  }

  async removeAll(user: Authenticatable): Promise<void> {
    await this.#tableOf(user).deleteAll(user.authId());
  }

  #tableOf(user: Authenticatable) {
    return this.#authenticators.tableOf(RECOVERY_CODE, user);
  }

  /** In any spelling: users type what they have printed. */
  #handleOf(user: object, typed: string): string {
    const code = typed
      .toLowerCase()
      .replaceAll(/[^a-z\d]/g, "")
      .replaceAll("0", "o")
      .replaceAll("1", "l");
    return digest(`recovery_code ${this.#authenticators.ownerOf(user)} ${code}`);
  }
}

function newCode(): string {
  return toBase32(randomBytes(CODE_BYTES))
    .toLowerCase()
    .replaceAll(/.{4}(?=.)/g, "$&-");
}
