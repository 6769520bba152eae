import type { Container } from "../../kernel/index.ts";
import type { MaybePromise } from "../../support/index.ts";

/** A session as stored between two requests. */
export interface StoredSession {
  /** When the session got its id, in milliseconds since 1970. */
  readonly createdAt: number;
  /** When it was last saved, in milliseconds since 1970. */
  readonly usedAt: number;
  /** The contents, as JSON. */
  readonly contents: string;
}

/**
 * Keeps the data of visitors' sessions: `store` in `config/session.ts`. `databaseSessions` creates such a store.
 * `sessionStoreSuite` from `ashlar/testing` tests the rules listed here.
 *
 * ```ts
 * // config/session.ts
 * export const SESSION = { store: databaseSessions() } satisfies SessionSettings;
 * ```
 *
 * A store handles neither visitors nor cookies. It keeps text under keys that the framework derives from the cookie.
 * The framework itself checks each time whether a session is too old. A store must follow these rules:
 *
 * - **A stored session is visible to every process as soon as the promise resolves**, unchanged: contents to the
 *   character, times to the millisecond. The next request may go to another process.
 * - **A session that was destroyed does not come back.** A visitor may log out in one tab while a request from another
 *   tab, which saves the session at its end, is still running. `update` must therefore be one conditional step, such as
 *   `update … where id = ?` or Redis's `SET … XX`, and never a read followed by a write, or an insert.
 * - **An update is all or nothing.** Of two concurrent updates, either may be last, but the result is entirely one or
 *   the other. The framework does not lock a session during a request: requests of one visitor run concurrently, and
 *   the last one to finish wins.
 * - **Keys are compared byte by byte.** They are 43 characters of base64url, so `a` and `A` differ.
 * - **Failures throw.** If a store can't be reached, it must not act as if there were no session, because the visitor
 *   would get a new, empty one, and lose the old one. The request fails with the error that was thrown.
 *
 * A store in the process's memory may return its results without a promise.
 *
 * Security: a key is the SHA-256 digest of the cookie's value, so a leaked store gives access to no session. The
 * contents are not encrypted, and contain whatever the application puts into sessions.
 */
export interface SessionStore {
  /**
   * Whether sessions are in this process's memory, unknown to other processes. In production, startup then fails if
   * several processes run the application. Default: `false`.
   */
  readonly isLocal?: boolean;
  /** The maximum size of one session's contents, in bytes of UTF-8. Saving a larger session fails with `E_SESSION`. */
  readonly maxBytes: number;
  /**
   * The session under a key, too old or not; `null` if there isn't one. Called once for each request that has a session
   * cookie.
   */
  read(key: string): MaybePromise<StoredSession | null>;
  /**
   * Stores a new session. The key is random, so nothing is stored under it yet.
   *
   * @param expiresAt when the session ends unless it is used before that, in milliseconds since 1970, for stores that
   * expire entries by themselves
   */
  create(key: string, session: StoredSession, expiresAt: number): MaybePromise<void>;
  /**
   * Replaces a session if it still exists.
   *
   * @param expiresAt as in {@link create}
   * @returns whether it existed
   */
  update(key: string, session: StoredSession, expiresAt: number): MaybePromise<boolean>;
  /**
   * Stores a session under a new key, and ends the previous one, in one step. Omit it if the store can't do that; the
   * framework then calls {@link create}, and then {@link destroy}.
   *
   * @param previous the key of the previous session, which may have ended already
   * @param expiresAt as in {@link create}
   */
  replace?(previous: string, key: string, session: StoredSession, expiresAt: number): MaybePromise<void>;
  /** Ends a session. It may have ended already. */
  destroy(key: string): MaybePromise<void>;
  /**
   * Deletes sessions that have ended. Called by `ashlar prune`, and about once an hour while sessions are used. Omit it
   * if the store expires entries by itself.
   *
   * @param usedBefore deletes sessions last saved at this time or before, in milliseconds since 1970
   * @param createdBefore deletes sessions that got their id at this time or before, in milliseconds since 1970
   * @returns how many it deleted
   */
  prune?(usedBefore: number, createdBefore: number): MaybePromise<number>;
  /**
   * Connects before the application serves requests, so that no request has to wait for it. Commands that only inspect
   * the application don't call it. It must not throw if the store can't be reached; requests fail instead. Omit it if
   * there is nothing to connect to.
   */
  connect?(): Promise<void>;
  /**
   * Checks that the store can be reached, without changing anything. `ashlar doctor` calls it. Omit it if there is
   * nothing to connect to.
   *
   * @throws an error with the reason if the store can't be reached
   */
  check?(): Promise<void>;
  /** Releases all resources. Called when the application shuts down. */
  close(): MaybePromise<void>;
}

/** A store, or a function that creates one for each application whose configuration contains it. */
export type SessionStoreSource = SessionStore | ((container: Container) => SessionStore);
