import { type Message, now } from "../../support/index.ts";
import { accessEpochOf, staleProof } from "../access-epoch.ts";
import type { Authenticatable, AuthenticatableClass } from "../authenticatable.ts";
import { logOutEverywhere, logOutEverywhereOnProof } from "../end-access.ts";
import { deviceName } from "./device-name.ts";
import { type KeptLogin, type ListedLogin, type LoginStore, PENDING_EPOCH } from "./login-store.ts";

/** A device that a user is logged in on. */
export interface LoginInfo {
  /** What `logins.end()` takes. */
  readonly id: string;
  /** A name for the device: `Firefox on Windows`. */
  readonly device: string;
  /** The address it was last used from; `null` if that is unknown. */
  readonly ip: string | null;
  /** The client's user agent at that time. */
  readonly userAgent: string | null;
  readonly lastUsedAt: Date;
  readonly createdAt: Date;
  /** Whether this request comes from it. */
  readonly isCurrent: boolean;
}

/** The dependencies of {@link UserLogins}. */
export interface UserLoginsDependencies {
  readonly guard: string;
  readonly store: LoginStore;
  /** The class of the guard's users, or an object that finds them. */
  readonly users: AuthenticatableClass;
  readonly user: () => Promise<Authenticatable | null>;
  /** The key of the login that this request comes from; known once {@link UserLoginsDependencies.user} is. */
  readonly currentId: () => string | null;
  readonly logout: () => Promise<void>;
  /** Makes the request use this object as its user, if it is another one with a new epoch. */
  readonly takeOver: (user: Authenticatable) => void;
  /** Translates the names of devices into the user's language. */
  readonly t: (message: Message) => string;
  /** Deletes the user's logins with all other guards that have the same rows. */
  readonly endBeside: (user: Authenticatable) => Promise<void>;
  /** Runs work in a transaction of the application's database, and of that of the users, if there is one. */
  readonly transaction: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Keys of logins are texts chosen by the store; a longer one is never valid. */
const MAX_ID_LENGTH = 255;

/**
 * The logins of a request's user with one guard: the devices that the user is logged in on.
 *
 * A guest has none. No method reaches the logins of another user.
 */
export class UserLogins {
  readonly #dependencies: UserLoginsDependencies;

  constructor(dependencies: UserLoginsDependencies) {
    this.#dependencies = dependencies;
  }

  /** The logins that have not ended, most recently used first. */
  async list(): Promise<LoginInfo[]> {
    const { guard, store, currentId, t } = this.#dependencies;
    const user = await this.#dependencies.user();
    if (user === null) return [];
    const current = currentId();
    const epoch = accessEpochOf(user);
    const logins = await store.list({ guard, userId: user.authId() });
    return logins
      .filter(({ accessEpoch, expiresAt }) => accessEpoch === epoch && expiresAt.getTime() > now())
      .sort((one, other) => other.lastUsedAt.getTime() - one.lastUsedAt.getTime())
      .map((login) => describe(login, current, t));
  }

  /**
   * Ends one login. If the request comes from it, that is a logout.
   *
   * @param id as returned by {@link list}; it may come from an input, of any type
   * @returns whether the login existed and belonged to the user
   */
  async end(id: unknown): Promise<boolean> {
    const { guard, store, currentId, logout } = this.#dependencies;
    const user = await this.#dependencies.user();
    if (user === null || !isLoginId(id)) return false;
    if (String(id) === currentId()) {
      await logout();
      return true;
    }
    return store.end({ guard, userId: user.authId(), id: String(id) });
  }

  /**
   * Ends all logins except the one that the request comes from, and with them all other access to the account: links in
   * mails, the API token if it is checked in the database, and what `endCredentials()` of the user removes; see
   * `CredentialHolder`.
   *
   * @returns how many logins were ended
   * @throws `E_STALE_PROOF` if the login that the request comes from was itself ended in the meantime
   */
  async endOthers(): Promise<number> {
    const user = await this.#dependencies.user();
    if (user === null) return 0;
    const { transaction, users, takeOver, endBeside } = this.#dependencies;
    const { changed, ended } = await transaction(async () => {
      const changed = await logOutEverywhereOnProof(users, user);
      if (changed === null) throw staleProof();
      await endBeside(changed);
      return { changed, ended: await this.keepCurrent(changed) };
    });
    if (changed !== user) takeOver(changed);
    return ended;
  }

  /**
   * Ends all logins except the one that the request comes from, which continues under the user's current access epoch:
   * for callers that have changed it on the user of this request. Takes part in the current transaction, if there is
   * one.
   *
   * @param changed the user with the new epoch, if that is not the request's own object
   * @returns how many logins were ended
   */
  async keepCurrent(changed?: Authenticatable): Promise<number> {
    const user = await this.#dependencies.user();
    if (user === null) return 0;
    const id = this.#dependencies.currentId();
    return this.#endAll(user, id === null ? null : { id, accessEpoch: accessEpochOf(changed ?? user) });
  }

  /**
   * Ends all logins and all other access to the account, and logs the user out.
   *
   * @returns how many logins were ended
   */
  async endAll(): Promise<number> {
    const { users, transaction, logout, endBeside } = this.#dependencies;
    const user = await this.#dependencies.user();
    if (user === null) return 0;
    const ended = await transaction(async () => {
      await logOutEverywhere(users, user);
      await endBeside(user);
      return this.#endAll(user, null);
    });
    await logout();
    return ended;
  }

  /** Ends what the store has of a user, and returns how many logins that were, without those that waited for a step. */
  async #endAll(user: Authenticatable, kept: KeptLogin | null): Promise<number> {
    const { guard, store } = this.#dependencies;
    const owner = { guard, userId: user.authId() };
    const logins = await store.list(owner);
    await store.endAll(owner, kept);
    return logins.filter(
      ({ id, accessEpoch, expiresAt }) =>
        accessEpoch !== PENDING_EPOCH && id !== kept?.id && expiresAt.getTime() > now(),
    ).length;
  }
}

function describe(login: ListedLogin, current: string | null, t: (message: Message) => string): LoginInfo {
  const { id, ip, userAgent, lastUsedAt, createdAt } = login;
  return { id, device: deviceName(userAgent, t), ip, userAgent, lastUsedAt, createdAt, isCurrent: id === current };
}

/** Reports whether a value that may come from an input can be the key of a login. */
function isLoginId(value: unknown): value is string | number {
  if (typeof value === "number") return Number.isSafeInteger(value);
  return typeof value === "string" && value !== "" && value.length <= MAX_ID_LENGTH;
}
