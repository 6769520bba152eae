import type { MaybePromise } from "../support/index.ts";

/** A session as it is kept between two requests. */
export interface SessionRecord {
  readonly id: string;
  /** When it got its id, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** When it was last kept, in milliseconds since the epoch. */
  readonly usedAt: number;
  /** What it holds, as text. */
  readonly contents: string;
}

/** Where sessions are kept. What it gives out may be too old: its caller looks at that. */
export interface SessionStore {
  /** How many bytes the contents of one session may have. */
  readonly maxBytes: number;
  /** What to do with a session that holds more, in a sentence. */
  readonly remedy: string;
  /** Whether finding a session means waiting for it. */
  readonly isRemote: boolean;

  /** The session that a cookie stands for; `null` where it stands for none. Nothing in the cookie can make this throw. */
  find(cookie: string): MaybePromise<SessionRecord | null>;

  /** What the cookie of a session holds. */
  cookieFor(record: SessionRecord): string;

  /**
   * Keeps a session.
   *
   * @param previous what it was found as, perhaps under another id, which then ends; `null` for a new one
   * @returns `false` where the session ended meanwhile, so that its cookie is to be left alone
   */
  save(record: SessionRecord, previous: SessionRecord | null): MaybePromise<boolean>;

  /** Ends a session. */
  remove(record: SessionRecord): MaybePromise<void>;

  /**
   * Deletes sessions that nobody can use any more.
   *
   * @param usedBefore those last used before this, in milliseconds since the epoch
   * @param createdBefore those begun before this, in milliseconds since the epoch
   * @returns how many there were
   */
  prune(usedBefore: number, createdBefore: number): Promise<number>;
}
