import type { Container } from "../kernel/index.ts";
import type { MaybePromise } from "../support/index.ts";

/** What a store keeps of a session between two requests. */
export interface StoredSession {
  /** When the session got its id, in milliseconds since 1970. */
  readonly createdAt: number;
  /** When it was last kept, in milliseconds since 1970. */
  readonly usedAt: number;
  /** What it holds, as JSON. */
  readonly contents: string;
}

/**
 * Where the data of visitors' sessions is kept: `store` of `config/session.ts`. {@link databaseSessions} is one;
 * `sessionStoreSuite` of `ashlar/testing` tests what is promised here.
 *
 * ```ts
 * // config/session.ts
 * export const SESSION = { store: databaseSessions() } satisfies SessionSettings;
 * ```
 *
 * A store knows neither visitors nor cookies. It keeps text under keys, which the framework makes of what the cookie
 * carries. Whether a session is too old to be used, the framework checks itself, each time. What a store must promise is
 * this:
 *
 * - **What is stored is there for every process from the moment that the promise resolves**, as it was: contents to the
 *   character, times to the millisecond. The next request may go to another process.
 * - **A session that was destroyed does not come back.** A visitor logs out in one tab while a request in another one is under
 *   way, and saves the session at its end. `update` must therefore be one conditional step, such as
 *   `update … where id = ?` or Redis's `SET … XX`: never a read followed by a write, and never an insert.
 * - **An update is all or nothing.** Of two at once, either may be last, but what is kept is wholly the one or the other. The
 *   framework does not lock a session for the length of a request: requests of one visitor run side by side, and the one that
 *   is done last is kept.
 * - **Keys are compared byte by byte.** They are 43 characters of base64url, so `a` and `A` differ.
 * - **What fails throws.** A store that cannot be reached must not answer as if there were no session: the visitor would get
 *   a new, empty one, and lose the one that was there. The request fails with what was thrown.
 *
 * A store in the memory of the process may return what it has without a promise.
 *
 * Security: a key is the SHA-256 digest of what the cookie carries, so what leaks out of a store opens no session. The
 * contents are not encrypted; they hold whatever the application puts into sessions.
 */
export interface SessionStore {
  /** How many bytes of UTF-8 the contents of one session may have. A session that outgrows it fails with `E_SESSION`. */
  readonly maxBytes: number;
  /** The session under a key, too old or not; `null` if there is none. Called once for each request that brings a cookie. */
  read(key: string): MaybePromise<StoredSession | null>;
  /**
   * Stores a new session. Nothing is stored under the key, which is random.
   *
   * @param expiresAt when the session ends unless it is used before, in milliseconds since 1970; a store that expires entries
   * by itself goes by it
   */
  create(key: string, session: StoredSession, expiresAt: number): MaybePromise<void>;
  /**
   * Replaces a session, if it is still there.
   *
   * @param expiresAt as in {@link create}
   * @returns whether it was
   */
  update(key: string, session: StoredSession, expiresAt: number): MaybePromise<boolean>;
  /** Ends a session. It may have ended already. */
  destroy(key: string): MaybePromise<void>;
  /**
   * Deletes sessions that have ended. Called by `ashlar prune`, and about once an hour while sessions are used. Leave it out
   * if the store expires entries by itself.
   *
   * @param usedBefore those last kept at this time or before, in milliseconds since 1970
   * @param createdBefore those that got their id at this time or before, in milliseconds since 1970
   * @returns how many it deleted
   */
  prune?(usedBefore: number, createdBefore: number): MaybePromise<number>;
  /** Releases everything. Called when the application shuts down. */
  close(): MaybePromise<void>;
}

/** A store, or what makes the store of each application that has it in its configuration. */
export type SessionStoreSource = SessionStore | ((container: Container) => SessionStore);
