import type { MaybePromise } from "../../support/index.ts";
import type { StoredSession } from "./session-store.ts";

/** A session as stored between two requests. */
export interface SessionRecord extends StoredSession {
  readonly id: string;
}

/**
 * Stores sessions, and finds them again by their cookies. A returned session may be too old; the caller checks that.
 */
export interface SessionKeeper {
  /** The maximum size of one session's contents, in bytes. */
  readonly maxBytes: number;
  /** A sentence with advice for a session that is too large. */
  readonly remedy: string;
  /** Whether reading a session is asynchronous, because it is in a store. */
  readonly isRemote: boolean;
  /** Whether only this process has the sessions. */
  readonly isLocal?: boolean;

  /** The session that a cookie identifies; `null` if there isn't one. Doesn't throw, whatever the cookie contains. */
  find(cookie: string): MaybePromise<SessionRecord | null>;

  /** The value of a session's cookie. */
  cookieFor(record: SessionRecord): string;

  /**
   * Stores a session.
   *
   * @param previous the session as it was read; if it had another id, the session with that id ends; `null` for a new
   * session
   * @returns `false` if the session has ended in the meantime, in which case its cookie must not be changed
   */
  save(record: SessionRecord, previous: SessionRecord | null): MaybePromise<boolean>;

  /** Ends a session. */
  remove(record: SessionRecord): MaybePromise<void>;

  /**
   * Deletes sessions that have ended.
   *
   * @param usedBefore deletes sessions last used before this time, in milliseconds since 1970
   * @param createdBefore deletes sessions created before this time, in milliseconds since 1970
   * @returns how many were deleted
   */
  prune(usedBefore: number, createdBefore: number): MaybePromise<number>;

  /** Connects to the store, if it needs a connection. */
  connect?(): Promise<void> | undefined;

  /** Checks whether the store can be reached; `undefined` if the store has no such check. */
  check?(): Promise<void> | undefined;

  /** Releases all resources. */
  close(): MaybePromise<void>;
}
