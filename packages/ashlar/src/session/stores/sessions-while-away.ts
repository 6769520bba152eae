import { AshlarError, type MaybePromise } from "../../support/index.ts";
import type { SessionStore, StoredSession } from "./session-store.ts";

/** How many sessions of each kind are remembered. The oldest are forgotten, and expire by themselves. */
const MAX_REMEMBERED = 100_000;

/**
 * Keeps sessions in another store while the first one can't be used.
 *
 * A session stays in the store in which it began. A session in the first store ends if its visitor makes a request
 * while the store is down. A visitor who logs out during that time must not get the session back later, so it is
 * deleted as soon as possible.
 */
export class SessionsWhileAway implements SessionStore {
  readonly maxBytes: number;
  readonly #first: SessionStore;
  readonly #other: SessionStore;
  /** The keys of sessions that were destroyed while the first store was down. */
  readonly #ended = new Set<string>();
  /**
   * The keys that were requested while the first store was down.
   *
   * Security: anyone can request keys that don't exist, and so push other keys out of this set, but not out of
   * `#ended`.
   */
  readonly #missed = new Set<string>();
  readonly #maxRemembered: number;
  #deleting: Promise<void> | null = null;

  /** @param maxRemembered how many keys of each kind are remembered */
  constructor(first: SessionStore, other: SessionStore, maxRemembered: number = MAX_REMEMBERED) {
    this.#maxRemembered = maxRemembered;
    this.maxBytes = Math.min(first.maxBytes, other.maxBytes);
    this.#first = first;
    this.#other = other;
  }

  async read(key: string): Promise<StoredSession | null> {
    const found = await this.#inFirst(key, () => this.#first.read(key));
    // A session that began in the other store stays there, even once the first one is back.
    return found ?? (await this.#other.read(key));
  }

  async create(key: string, session: StoredSession, expiresAt: number): Promise<void> {
    const isStored = await this.#inFirst(key, async () => {
      await this.#first.create(key, session, expiresAt);
      return true;
    });
    if (isStored === null) await this.#other.create(key, session, expiresAt);
  }

  async update(key: string, session: StoredSession, expiresAt: number): Promise<boolean> {
    const isKept = await this.#inFirst(key, () => this.#first.update(key, session, expiresAt));
    return isKept === true || (await this.#other.update(key, session, expiresAt));
  }

  async replace(previous: string, key: string, session: StoredSession, expiresAt: number): Promise<void> {
    await this.create(key, session, expiresAt);
    await this.destroy(previous);
  }

  async destroy(key: string): Promise<void> {
    const isGone = await this.#inFirst(key, async () => {
      await this.#first.destroy(key);
      return true;
    });
    // A session that began in the other store was never in the first one.
    if (isGone === null && (await this.#other.read(key)) === null) this.#remember(this.#ended, key);
    await this.#other.destroy(key);
  }

  async connect(): Promise<void> {
    await this.#first.connect?.();
    await this.#other.connect?.();
  }

  async check(): Promise<void> {
    await this.#first.check?.();
    await this.#other.check?.();
  }

  async prune(usedBefore: number, createdBefore: number): Promise<number> {
    const pruned = await this.#first.prune?.(usedBefore, createdBefore);
    return (pruned ?? 0) + ((await this.#other.prune?.(usedBefore, createdBefore)) ?? 0);
  }

  async close(): Promise<void> {
    await this.#deleting;
    await this.#first.close();
    await this.#other.close();
  }

  /**
   * The first store's result; `null` if the store is down, or if the session ended during the outage and so counts as
   * missing.
   */
  async #inFirst<T>(key: string, ask: () => MaybePromise<T>): Promise<T | null> {
    if (this.#ended.has(key) || this.#missed.has(key)) {
      this.#beginDeleting();
      return null;
    }
    try {
      const answer = await ask();
      if (this.#ended.size + this.#missed.size > 0) this.#beginDeleting();
      return answer;
    } catch (error) {
      if (!(error instanceof AshlarError)) throw error;
      this.#remember(this.#missed, key);
      return null;
    }
  }

  #beginDeleting(): void {
    this.#deleting ??= this.#deleteEnded().finally(() => {
      this.#deleting = null;
    });
  }

  /** Deletes sessions in the first store that ended while it was down, until it fails again. */
  async #deleteEnded(): Promise<void> {
    try {
      for (const keys of [this.#ended, this.#missed]) {
        for (const key of keys) {
          await this.#first.destroy(key);
          keys.delete(key);
        }
      }
    } catch {
      // The store is down again. The next request that reaches it resumes this.
    }
  }

  #remember(keys: Set<string>, key: string): void {
    keys.add(key);
    const [oldest] = keys;
    if (keys.size > this.#maxRemembered) keys.delete(oldest!);
  }
}
