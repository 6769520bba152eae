import type { Container } from "../../kernel/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import type { Authenticatable, UserId } from "../authenticatable.ts";

/** Whose a login is. The key alone does not say it: guards can have users of different tables, with equal keys. */
export interface LoginOwner {
  /** The name of the guard. */
  readonly guard: string;
  /** The user's primary key. */
  readonly userId: UserId;
}

/** A login as it is stored: one device that a user is logged in on. */
export interface Login {
  /** What the store knows the login by: any text, unique in the store. Users see it, and send it back to end the login. */
  readonly id: string;
  /** The primary key of the user. A store may give it as text, whatever it was. */
  readonly userId: UserId;
  /**
   * The access epoch of the user when the login started, or went on under another one; it is void once the user's differs.
   * `pending`, which no user has, if the login waits for a step.
   */
  readonly accessEpoch: string;
  /** When the user last proved the password; `null` if never. */
  readonly authenticatedAt: Date | null;
  readonly lastUsedAt: Date;
  /** When it ends as things stand: a use puts that off, as far as the guard lets it. */
  readonly expiresAt: Date;
  readonly createdAt: Date;
}

/** A login that was found by its token. */
export interface FoundLogin extends Login {
  /**
   * The user, if the store has read it together with the login; `null` if there is no such user any more. If it is left out,
   * the guard asks the class of its users for {@link Login.userId}.
   */
  readonly user?: Authenticatable | null;
}

/** A login among those of its user. */
export interface ListedLogin extends Login {
  /** The address it was last used from; `null` if that is not known, or no longer kept. */
  readonly ip: string | null;
  /** What the client called itself then, at most 255 UTF-16 units; `null` likewise. */
  readonly userAgent: string | null;
}

/** A login that is to be stored. */
export interface NewLogin extends Omit<ListedLogin, "id">, LoginOwner {
  /** The digest of the token that the browser has: 43 characters of base64url. The store never sees the token. */
  readonly tokenHash: string;
}

/** A use of a login, to be noted. */
export interface LoginUse extends Pick<ListedLogin, "id" | "ip" | "userAgent" | "lastUsedAt" | "expiresAt"> {
  readonly guard: string;
}

/** What a login, or a new token for one, rests on: a user who has proved who they are. */
export interface LoginProof {
  /** The user, as read when the proof was given. */
  readonly user: Authenticatable;
  /** The user's access epoch at that moment. */
  readonly accessEpoch: string;
  /** Reads the user again, and tells whether access to the account has not ended since. */
  holds(): Promise<boolean>;
}

/** One login, by its key and its owner, or by the digest of its token. */
export type LoginReference =
  | (LoginOwner & { readonly id: string; readonly tokenHash?: undefined })
  | { readonly guard: string; readonly tokenHash: string };

/** What is to be deleted. */
export interface LoginPruning {
  /** Logins that ended at this time or before are deleted. */
  readonly endedBefore: Date;
  /** Logins that go on, and were last used at this time or before, lose their address and user agent. */
  readonly unusedSince: Date;
  /**
   * Of some users of a guard, those that exist, as text; `null` if that cannot be told. The logins of others are deleted. Ask
   * for a few hundred at once.
   */
  readonly existingUsers: (guard: string, userIds: readonly UserId[]) => Promise<ReadonlySet<string> | null>;
  /** Stops it as soon as it can; what is left is pruned the next time. */
  readonly signal?: AbortSignal | undefined;
}

/** What was pruned. */
export interface PrunedLogins {
  /** How many logins were deleted. */
  readonly logins: number;
  /** How many lost their address and user agent. */
  readonly addresses: number;
}

/**
 * Where the logins of guards with the driver `web` are kept: `logins` of an entry of `GUARDS`. {@link databaseLogins} is one,
 * and the default. `loginStoreSuite` of `ashlar/testing` tests what is promised here.
 *
 * ```ts
 * // config/auth.ts
 * export const GUARDS = { default: "web", web: { model: User, logins: databaseLogins() } };
 * ```
 *
 * A store keeps what it is given, and gives it back as it was: texts to the character, times to the millisecond. It decides
 * nothing about access: whether a login has ended, belongs to this user, or is void under the user's access epoch, the guard
 * checks itself whenever it is used. What a store must promise is this:
 *
 * - **A login exists from the moment that `start` resolves**, for every process, until it is ended or pruned. One that was
 *   ended is gone at once and for good: neither `touch` nor `renew`, under way at that moment, brings it back. Each of them
 *   must be one conditional step, never a read followed by a write of the complete login.
 * - **A proof is good only while it holds.** A password can be reset while a login by the old one is under way. If the store can
 *   reach the user's row, `start` and `renew` are one statement that is conditional on it (`insert … select … from users where
 *   access_epoch = ?`). Otherwise they write first, then ask {@link LoginProof.holds}, and take back what they wrote if it
 *   says no; in this order, since what ends access changes the user first and ends the logins then. A login that is found
 *   meanwhile is refused by its epoch.
 * - **A login ends once.** If several requests end it at the same time, `end` returns `true` to one of them: a login that
 *   waits for a step is stored as well, under an access epoch that no user has, and its completion ends that.
 * - **Guards are apart.** Each operation reaches the logins of the guard it names, and no other, even if keys are equal.
 * - **What fails throws.** A store that cannot be reached must not answer as if there were no login, or one had been ended: the
 *   request then fails, and a password is not changed whose logins could not be ended.
 *
 * Where access ends, `endAll` is called within the transaction that changes the user. A store in the same database takes part
 * in it. Any other does its work at once: if the transaction is then rolled back, the user has to log in again, and what was
 * to be ended is ended.
 *
 * Security: store digests alone, as they are given. Addresses and user agents are personal data: `prune` deletes them.
 */
export interface LoginStore {
  /** The login with a token's digest, ended or not; `null` if there is none. Called once for each request with a cookie. */
  find(guard: string, tokenHash: string): MaybePromise<FoundLogin | null>;
  /**
   * Stores a login on the strength of a proof.
   *
   * @returns its key; `null`, and nothing is stored, if the proof no longer holds
   */
  start(login: NewLogin, proof: LoginProof): Promise<string | null>;
  /**
   * Gives a login a new token, since its user has proved the password again. The old token is void.
   *
   * @returns whether the proof still held, and the login was there, in the proof's access epoch
   */
  renew(login: LoginOwner & { readonly id: string }, renewal: LoginRenewal, proof: LoginProof): Promise<boolean>;
  /** Notes a use. Called after the answer, at most once in a while for each login; one that is gone stays so. */
  touch(use: LoginUse): Promise<void>;
  /** A user's logins, the newest first. Those that have ended, or are void, may be among them. */
  list(owner: LoginOwner): Promise<readonly ListedLogin[]>;
  /**
   * Ends a login.
   *
   * @param login its key may come from an input, as any text
   * @returns whether there was such a login
   */
  end(login: LoginReference): Promise<boolean>;
  /**
   * Ends all logins of a user.
   *
   * @param kept the login that goes on, if it is there, under a new access epoch: its user has changed that from there
   * @returns how many were ended
   */
  endAll(owner: LoginOwner, kept?: KeptLogin | null): Promise<number>;
  /** Deletes what is no longer to be kept. Called by `ashlar prune`, and once a day by the server. */
  prune(pruning: LoginPruning): Promise<PrunedLogins>;
}

/** What {@link LoginStore.renew} changes. */
export interface LoginRenewal {
  readonly tokenHash: string;
  readonly authenticatedAt: Date;
}

/** The login that {@link LoginStore.endAll} leaves. */
export interface KeptLogin {
  readonly id: string;
  /** The access epoch that it goes on under. */
  readonly accessEpoch: string;
}

/** A store, or what makes the store of each application that has it in its configuration. */
export type LoginStoreSource = LoginStore | ((container: Container) => LoginStore);

const METHODS = ["find", "start", "renew", "touch", "list", "end", "endAll", "prune"] as const;

/** Tells whether a value can be a {@link LoginStoreSource}. */
export function isLoginStoreSource(value: unknown): value is LoginStoreSource {
  if (typeof value === "function") return true;
  if (typeof value !== "object" || value === null) return false;
  return METHODS.every((name) => typeof (value as Record<string, unknown>)[name] === "function");
}
