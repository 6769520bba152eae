import type { Authenticatable } from "../../auth/index.ts";
import type { Authenticators, SecondFactor } from "../../authenticators/index.ts";
import { declareKeyPurpose, digest, digestEquals, type KeyPurpose, Sealer } from "../../security/index.ts";
import { AshlarError, currentDate } from "../../support/index.ts";
import { codeOf, currentPeriod, normalized, periodOf } from "../codes/one-time-codes.ts";

export const TOTP = "totp";
export const TOTP_SECRETS: KeyPurpose = declareKeyPurpose("two-factor");

/** A secret is valid until it is replaced. */
const MAX_AGE_SECONDS = Number.MAX_SAFE_INTEGER;

/** The keys that secrets are sealed with. */
export interface TotpKeys {
  readonly key: string;
  /** Those that were used before, which still open secrets. */
  readonly previousKeys: readonly string[];
}

/** The secret of a user's app, as stored. */
interface StoredSecret {
  readonly id: string;
  readonly data: string;
  readonly counter: number;
  readonly secret: string;
  /** What is stored in place of `data` from now on: the same, sealed with the present key. */
  readonly sealed: string;
}

/** The authenticator apps of users: one for each user. Its codes are those of RFC 6238. */
export class Totp implements SecondFactor<Authenticatable> {
  readonly amr: readonly string[] = ["otp"];
  readonly field = "code";
  readonly isRequired = true;
  readonly #authenticators: Authenticators;
  readonly #present: Sealer;
  /** Seals secrets, and opens those that were sealed with a former key. */
  readonly sealer: Sealer;

  constructor(authenticators: Authenticators, { key, previousKeys }: TotpKeys) {
    this.#authenticators = authenticators;
    this.#present = new Sealer(key, TOTP_SECRETS);
    this.sealer = new Sealer(key, TOTP_SECRETS, { previousSecrets: previousKeys });
  }

  async has(user: Authenticatable): Promise<boolean> {
    return (await this.#authenticators.tableOf(TOTP, user).count(user)) > 0;
  }

  /** Reports whether a code is the user's, now, and is used for the first time. */
  async accept(user: Authenticatable, typed: string): Promise<boolean> {
    const code = normalized(typed);
    const stored = code === null ? null : await this.#stored(user);
    if (code === null || stored === null) return false;
    const period = periodOf(stored.secret, code);
    return period !== null && this.#advance(user, stored, period);
  }

  /**
   * Reports whether codes are the user's, of three periods in a row, the last one now, and takes the last one. Three codes have 60
   * bits, so they can't be guessed, however often someone tries: nothing tells which of them was wrong.
   */
  async acceptInRow(user: Authenticatable, typed: readonly string[]): Promise<boolean> {
    const codes = typed.map(normalized);
    const stored = codes.includes(null) ? null : await this.#stored(user);
    if (stored === null) return false;
    const last = periodOf(stored.secret, codes.at(-1)!);
    if (last === null) return false;
    const first = last - codes.length + 1;
    const right = codes.map((_, index) => codeOf(stored.secret, first + index));
    const areInRow = digestEquals(right.join(), codes.join());
    return areInRow && this.#advance(user, stored, last);
  }

  /**
   * Stores the secret of a user's app, if a code shows that the app has it.
   *
   * @param user as read when the user proved who they are
   * @returns whether it was stored: `taken` if the user has an app already, or another request was first
   */
  async add(user: Authenticatable, secret: string, typed: string): Promise<"added" | "taken" | "wrong" | "ended"> {
    const period = proved(secret, typed);
    if (period === null) return "wrong";
    const values = { name: null, data: this.#seal(user, secret), counter: period, handle: this.#handleOf(user) };
    try {
      const id = await this.#authenticators.tableOf(TOTP, user).insert(user, values);
      return id === null ? "ended" : "added";
    } catch (error) {
      if (error instanceof AshlarError && error.code === "E_UNIQUE_VIOLATION") return "taken";
      throw error;
    }
  }

  /**
   * Stores the secret of an app that has shown its codes to another system. The code of the present period works.
   *
   * @param secret in base32
   * @returns `present` if the user has this secret already, `taken` if another one
   */
  async import(user: Authenticatable, secret: string): Promise<"stored" | "present" | "taken"> {
    const stored = await this.#stored(user);
    if (stored !== null) return stored.secret === secret ? "present" : "taken";
    const values = {
      name: null,
      data: this.#seal(user, secret),
      counter: currentPeriod() - 1,
      handle: this.#handleOf(user),
    };
    const id = await this.#authenticators.tableOf(TOTP, user).insert(user, values);
    return id === null ? "taken" : "stored";
  }

  /** Replaces the secret of a user's app by that of another one, if a code shows that the other one has it. */
  async replace(user: Authenticatable, secret: string, typed: string): Promise<boolean> {
    const period = proved(secret, typed);
    const [own] = await this.#authenticators.tableOf(TOTP, user).list(user, { limit: 1 });
    if (period === null || own === undefined) return false;
    const changes = { data: this.#seal(user, secret), counter: period };
    return this.#authenticators.tableOf(TOTP, user).update({ id: own.id, data: own.data }, changes);
  }

  /** Removes it. Returns whether there was one. */
  async remove(user: Authenticatable): Promise<boolean> {
    return (await this.#authenticators.tableOf(TOTP, user).deleteAll(user.authId())) > 0;
  }

  async #stored(user: Authenticatable): Promise<StoredSecret | null> {
    const [own] = await this.#authenticators.tableOf(TOTP, user).list(user, { limit: 1 });
    if (own === undefined || own.data === null) return null;
    const { id, data, counter } = own;
    const name = this.#nameOf(user);
    const present = this.#present.open(name, data, MAX_AGE_SECONDS);
    if (present !== null) return { id, data, counter, secret: present, sealed: data };
    const secret = this.sealer.open(name, data, MAX_AGE_SECONDS);
    return secret === null ? null : { id, data, counter, secret, sealed: this.#seal(user, secret) };
  }

  /** One conditional statement: of two requests with the same code, or with codes of the same secret, one wins. */
  async #advance(user: Authenticatable, stored: StoredSecret, period: number): Promise<boolean> {
    const { id, data, counter, sealed } = stored;
    if (period <= counter) return false;
    const table = this.#authenticators.tableOf(TOTP, user);
    return table.update({ id, data, counter }, { data: sealed, counter: period, last_used_at: currentDate() });
  }

  #seal(user: Authenticatable, secret: string): string {
    return this.#present.seal(this.#nameOf(user), secret);
  }

  /** A row of another user doesn't open. */
  #nameOf(user: object): string {
    return `totp ${this.#authenticators.ownerOf(user)}`;
  }

  /** Unique, so a user has one app. */
  #handleOf(user: object): string {
    return digest(this.#nameOf(user));
  }
}

function proved(secret: string, typed: string): number | null {
  const code = normalized(typed);
  return code === null ? null : periodOf(secret, code);
}
