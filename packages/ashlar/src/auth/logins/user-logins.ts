import { type Message, now } from "../../support/index.ts";
import { accessEpochOf, staleProof } from "../access-epoch.ts";
import type { Authenticatable } from "../authenticatable.ts";
import { endAllAccess, rotateAccess } from "../rotate-access.ts";
import { deviceName } from "./device-name.ts";
import type { ListedLogin, LoginStore } from "./login-store.ts";

/** A device that a user is logged in on. */
export interface LoginInfo {
  /** What {@link UserLogins.end} takes. */
  readonly id: string;
  /** What to call the device: `Firefox on Windows`. */
  readonly device: string;
  /** The address it was last used from; `null` if that is not known. */
  readonly ip: string | null;
  /** What the client called itself then. */
  readonly userAgent: string | null;
  readonly lastUsedAt: Date;
  readonly createdAt: Date;
  /** Whether it is the one that this request comes from. */
  readonly isCurrent: boolean;
}

/** What {@link UserLogins} works with. */
export interface UserLoginsParts {
  readonly guard: string;
  readonly store: LoginStore;
  readonly user: () => Promise<Authenticatable | null>;
  /** The key of the login that this request comes from; known once {@link UserLoginsParts.user} is. */
  readonly currentId: () => string | null;
  readonly logout: () => Promise<void>;
  /** Puts what devices are called into the user's language. */
  readonly t: (message: Message) => string;
  /** Does some work in a transaction of the application's database, if it has one. */
  readonly transaction: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A login is known by a text of the store's own; longer ones are no store's. */
const MAX_ID_LENGTH = 255;

/**
 * The logins of a request's user with one guard: the devices that the user is logged in on.
 *
 * A guest has none. No method reaches the logins of another user.
 */
export class UserLogins {
  readonly #parts: UserLoginsParts;

  constructor(parts: UserLoginsParts) {
    this.#parts = parts;
  }

  /** The logins that have not ended, the last used first. */
  async list(): Promise<LoginInfo[]> {
    const { guard, store, currentId, t } = this.#parts;
    const user = await this.#parts.user();
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
   * Ends one login. The one that the request comes from is ended by a logout.
   *
   * @param id as {@link list} gives it; it may come from an input, of any type
   * @returns whether there was one, and it was the user's
   */
  async end(id: unknown): Promise<boolean> {
    const { guard, store, currentId, logout } = this.#parts;
    const user = await this.#parts.user();
    if (user === null || !isLoginId(id)) return false;
    if (String(id) === currentId()) {
      await logout();
      return true;
    }
    return store.end({ guard, userId: user.authId(), id: String(id) });
  }

  /**
   * Ends all logins but the one that the request comes from, and with them all other access to the account: links in
   * mails, and the API token where that is checked in the database.
   *
   * @returns how many logins there were
   * @throws `E_STALE_PROOF` if the login that the request comes from was itself ended in the meantime
   */
  async endOthers(): Promise<number> {
    const user = await this.#parts.user();
    if (user === null) return 0;
    return this.#parts.transaction(async () => {
      if (!(await rotateAccess(user))) throw staleProof();
      return this.keepCurrent();
    });
  }

  /**
   * Ends all logins but the one that the request comes from, which goes on under the user's access epoch as it is now:
   * for what has changed that on the user of this request. As part of the transaction that is under way, if there is one.
   *
   * @returns how many there were
   */
  async keepCurrent(): Promise<number> {
    const { guard, store, currentId } = this.#parts;
    const user = await this.#parts.user();
    if (user === null) return 0;
    const id = currentId();
    const kept = id === null ? null : { id, accessEpoch: accessEpochOf(user) };
    return store.endAll({ guard, userId: user.authId() }, kept);
  }

  /**
   * Ends all logins and all other access to the account, and logs the user out.
   *
   * @returns how many logins there were
   */
  async endAll(): Promise<number> {
    const { guard, store, transaction, logout } = this.#parts;
    const user = await this.#parts.user();
    if (user === null) return 0;
    const ended = await transaction(async () => {
      await endAllAccess(user);
      return store.endAll({ guard, userId: user.authId() });
    });
    await logout();
    return ended;
  }
}

function describe(login: ListedLogin, current: string | null, t: (message: Message) => string): LoginInfo {
  const { id, ip, userAgent, lastUsedAt, createdAt } = login;
  return { id, device: deviceName(userAgent, t), ip, userAgent, lastUsedAt, createdAt, isCurrent: id === current };
}

/** Tells whether a value that may come from an input can be the key of a login. */
function isLoginId(value: unknown): value is string | number {
  if (typeof value === "number") return Number.isSafeInteger(value);
  return typeof value === "string" && value !== "" && value.length <= MAX_ID_LENGTH;
}
