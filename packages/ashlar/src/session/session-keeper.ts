import type { MaybePromise } from "../support/index.ts";
import type { StoredSession } from "./session-store.ts";
import type { CompleteSessionSettings } from "./settings.ts";

const MINUTE_MS = 60_000;

/** A session as it is kept between two requests. */
export interface SessionRecord extends StoredSession {
  readonly id: string;
}

/** Keeps sessions by what their cookies hold. What it gives out may be too old: its caller looks at that. */
export interface SessionKeeper {
  /** How many bytes the contents of one session may have. */
  readonly maxBytes: number;
  /** What to do with a session that holds more, in a sentence. */
  readonly remedy: string;
  /** Whether finding a session means asking a store. */
  readonly isRemote: boolean;

  /** The session that a cookie stands for; `null` if it stands for none. Nothing in the cookie can make this throw. */
  find(cookie: string): MaybePromise<SessionRecord | null>;

  /** What the cookie of a session holds. */
  cookieFor(record: SessionRecord): string;

  /**
   * Keeps a session.
   *
   * @param previous what it was found as, perhaps under another id, which then ends; `null` for a new one
   * @returns `false` if the session ended meanwhile, so that its cookie is to be left alone
   */
  save(record: SessionRecord, previous: SessionRecord | null): MaybePromise<boolean>;

  /** Ends a session. */
  remove(record: SessionRecord): MaybePromise<void>;

  /**
   * Deletes sessions that have ended.
   *
   * @param usedBefore those last used before this, in milliseconds since 1970
   * @param createdBefore those begun before this, in milliseconds since 1970
   * @returns how many there were
   */
  prune(usedBefore: number, createdBefore: number): MaybePromise<number>;

  /** Releases everything. */
  close(): MaybePromise<void>;
}

/** When a session ends unless it is used before, in milliseconds since 1970. */
export function endOf({ createdAt, usedAt }: StoredSession, settings: CompleteSessionSettings): number {
  const { lifetimeMinutes, absoluteMinutes } = settings;
  return Math.min(usedAt + lifetimeMinutes * MINUTE_MS, createdAt + absoluteMinutes * MINUTE_MS);
}
