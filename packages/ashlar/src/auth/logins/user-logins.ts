import { type Message, now } from "../../support/index.ts";
import { accessEpochOf, staleProof } from "../access/access-epoch.ts";
import type { AccessEnding } from "../access/end-access.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import { deviceName } from "./devices.ts";
import {
  type KeptLogin,
  type ListedLogin,
  type LoginOwner,
  type LoginRange,
  type LoginStore,
  PENDING_EPOCH,
} from "./login-store.ts";

/** A page of the list of a user's logins. */
export interface LoginPage {
  /** The logins of the page, most recently used first. Each is a device that the user is logged in on. */
  readonly logins: readonly {
    /** The argument for `logins.end()`. */
    readonly id: string;
    /** A name for the device: `Firefox on Windows`. */
    readonly device: string;
    /** The address it was last used from; `null` if that is unknown. */
    readonly ip: string | null;
    /** The client's user agent at that time. */
    readonly userAgent: string | null;
    readonly lastUsedAt: Date;
    readonly createdAt: Date;
    /** The names of the proofs that the user has given in it: `["password", "totp"]`. */
    readonly by: readonly string[];
    /** Whether this request comes from it. */
    readonly isCurrent: boolean;
  }[];
  /** The value of `before` for the page of newer logins; `null` if these are the newest. */
  readonly before: string | null;
  /** The value of `after` for the page of older logins; `null` if these are the oldest. */
  readonly after: string | null;
}

type LoginInfo = LoginPage["logins"][number];

/** Which page {@link UserLogins.page} returns; the first if neither `before` nor `after` is the key of a login. */
export interface LoginPageOptions {
  /** `before` of another page; it may come from an input, of any type. */
  readonly before?: unknown;
  /** `after` of another page. */
  readonly after?: unknown;
  /** How many logins a page has, at most 100; default: 25. */
  readonly size?: number;
}

/** The dependencies of {@link UserLogins}. */
export interface UserLoginsDependencies {
  readonly guard: string;
  readonly store: LoginStore;
  readonly user: () => Promise<Authenticatable | null>;
  /** The key of the login that this request comes from; known once {@link UserLoginsDependencies.user} is. */
  readonly currentId: () => string | null;
  readonly logout: () => Promise<void>;
  /** Makes the request use this object as its user, if it is a different object with a new epoch. */
  readonly takeOver: (user: Authenticatable) => void;
  /** Translates the names of devices into the user's language. */
  readonly t: (message: Message) => string;
  /**
   * Says how the request's login continues, with a new token, under the user's new access epoch when all others end.
   */
  readonly keepAlone: (changed: Authenticatable) => KeptLogin | null;
  /** Sends that token, once it is stored. */
  readonly sendNextToken: () => void;
  /** Ends access to the account; the request's own login continues if `what` is `others`. */
  readonly endAccess: (user: Authenticatable, ending: AccessEnding<Authenticatable>) => Promise<Authenticatable | null>;
  /** Called after the user has ended logins on other devices, with how many. */
  readonly ended: (user: Authenticatable, count: number) => void;
}

/** Keys of logins are texts chosen by the store; a longer one is never valid. */
const MAX_ID_LENGTH = 255;
const PAGE_SIZE = 25;
const MAX_PAGE_SIZE = 100;
/** How many logins one statement reads when all of them are needed. */
const BATCH = 1000;

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

  /**
   * All logins that have not ended, most recently used first, up to the guard's `maxPerUser`. To show a list, use
   * {@link page}.
   */
  async list(): Promise<LoginInfo[]> {
    const user = await this.#dependencies.user();
    if (user === null) return [];
    const logins: ListedLogin[] = [];
    for await (const batch of this.#batches(user, accessEpochOf(user))) logins.push(...batch);
    return this.#described(logins);
  }

  /**
   * One page of the logins that have not ended. Pages go from newer logins to older ones.
   *
   * ```ts
   * const { logins, before, after } = await auth.logins().page({ after: request.input("after") });
   * ```
   */
  async page({ before, after, size: wanted = PAGE_SIZE }: LoginPageOptions = {}): Promise<LoginPage> {
    const size = Math.min(Math.max(Math.trunc(wanted) || PAGE_SIZE, 1), MAX_PAGE_SIZE);
    const user = await this.#dependencies.user();
    if (user === null) return { logins: [], before: null, after: null };
    const { guard, store } = this.#dependencies;
    const accessEpoch = accessEpochOf(user);
    // One more than is shown, to find out whether there are more.
    const read = (range: Partial<LoginRange>) =>
      store.list({ guard, userId: user.authId() }, { ...range, accessEpoch, limit: size + 1 });
    if (isLoginId(before)) {
      const newer = await read({ newerThan: String(before) });
      // The page of the newest logins is full too, if there are enough.
      if (newer.length > size) return this.#page(newer.slice(-size), true, true);
    } else if (isLoginId(after)) {
      const older = await read({ olderThan: String(after) });
      if (older.length > 0) return this.#page(older.slice(0, size), true, older.length > size);
    }
    const newest = await read({});
    return this.#page(newest.slice(0, size), false, newest.length > size);
  }

  /**
   * Ends one login. If the request comes from it, that is a logout.
   *
   * @param id the login's id, as returned by {@link list}; it may come from an input, of any type
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
    const isEnded = await store.end({ guard, userId: user.authId(), id: String(id) });
    if (isEnded) this.#dependencies.ended(user, 1);
    return isEnded;
  }

  /**
   * Ends all logins except the request's own, and with them all other access to the account: links in mails, the API
   * token if it is checked in the database, and everything that the user's `endCredentials()` removes; see
   * `CredentialHolder`. The remaining login gets a new token, so copies of its cookie are worthless too.
   *
   * @returns how many logins were ended
   * @throws `E_STALE_PROOF` if the login that the request comes from was itself ended in the meantime
   */
  async endOthers(): Promise<number> {
    const user = await this.#dependencies.user();
    if (user === null) return 0;
    const { endAccess, takeOver, currentId, sendNextToken } = this.#dependencies;
    let ended = 0;
    const changed = await endAccess(user, {
      what: "others",
      reason: "user",
      proof: "user",
      write: async (update) => {
        const changed = await update();
        if (changed !== null) ended = await this.#count(user, currentId());
        return changed;
      },
    });
    if (changed === null) throw staleProof();
    if (changed !== user) takeOver(changed);
    sendNextToken();
    this.#dependencies.ended(changed, ended);
    return ended;
  }

  /**
   * Ends all logins except the request's own, which continues under the user's current access epoch with a new token:
   * for callers that have changed the epoch on the user of this request. Takes part in the current transaction, if
   * there is one.
   *
   * @param changed the user with the new epoch, if that is not the request's own object
   * @returns how many logins were ended
   */
  async keepCurrent(changed?: Authenticatable): Promise<number> {
    const user = await this.#dependencies.user();
    if (user === null) return 0;
    const { store, keepAlone, sendNextToken } = this.#dependencies;
    const kept = keepAlone(changed ?? user);
    const ended = await this.#count(user, kept?.id ?? null);
    await store.endAll(this.#ownerOf(user), kept);
    sendNextToken();
    return ended;
  }

  /**
   * Ends all logins and all other access to the account, and logs the user out.
   *
   * @returns how many logins were ended
   */
  async endAll(): Promise<number> {
    const { endAccess, logout } = this.#dependencies;
    const user = await this.#dependencies.user();
    if (user === null) return 0;
    let ended = 0;
    await endAccess(user, {
      what: "everything",
      reason: "user",
      proof: "none",
      write: async (update) => {
        const changed = await update();
        ended = await this.#count(user, null);
        return changed;
      },
    });
    // The login of this request is announced as a logout.
    const others = this.#dependencies.currentId() === null ? ended : ended - 1;
    await logout();
    this.#dependencies.ended(user, others);
    return ended;
  }

  /** How many logins a user has except one, except those that wait for a step. */
  async #count(user: Authenticatable, except: string | null): Promise<number> {
    let count = 0;
    for await (const batch of this.#batches(user)) {
      const own = batch.filter((login) => hasNotEnded(login) && login.accessEpoch !== PENDING_EPOCH);
      count += own.filter(({ id }) => id !== except).length;
    }
    return count;
  }

  /** All logins of a user, newest first, a bounded number at a time. */
  async *#batches(user: Authenticatable, accessEpoch?: string): AsyncGenerator<readonly ListedLogin[]> {
    const range = { limit: BATCH, ...(accessEpoch === undefined ? {} : { accessEpoch }) };
    let batch: readonly ListedLogin[] = [];
    do {
      batch = await this.#dependencies.store.list(this.#ownerOf(user), {
        ...range,
        olderThan: batch.at(-1)?.id ?? null,
      });
      yield batch;
    } while (batch.length === BATCH);
  }

  #ownerOf(user: Authenticatable): LoginOwner {
    return { guard: this.#dependencies.guard, userId: user.authId() };
  }

  #page(logins: readonly ListedLogin[], hasNewer: boolean, hasOlder: boolean): LoginPage {
    return {
      logins: this.#described(logins),
      before: hasNewer ? (logins[0]?.id ?? null) : null,
      after: hasOlder ? (logins.at(-1)?.id ?? null) : null,
    };
  }

  #described(logins: readonly ListedLogin[]): LoginInfo[] {
    const { currentId, t } = this.#dependencies;
    const current = currentId();
    return logins
      .filter(hasNotEnded)
      .toSorted((one, other) => other.lastUsedAt.getTime() - one.lastUsedAt.getTime())
      .map((login) => describe(login, current, t));
  }
}

function hasNotEnded({ expiresAt }: ListedLogin): boolean {
  return expiresAt.getTime() > now();
}

function describe(login: ListedLogin, current: string | null, t: (message: Message) => string): LoginInfo {
  const { id, ip, userAgent, lastUsedAt, createdAt } = login;
  const by = (login.methods ?? []).map((method) => method.by);
  return { id, device: deviceName(userAgent, t), ip, userAgent, lastUsedAt, createdAt, by, isCurrent: id === current };
}

/** Reports whether a value that may come from an input can be the key of a login. */
function isLoginId(value: unknown): value is string | number {
  if (typeof value === "number") return Number.isSafeInteger(value);
  return typeof value === "string" && value !== "" && value.length <= MAX_ID_LENGTH;
}
