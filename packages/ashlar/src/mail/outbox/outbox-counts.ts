import { AsyncLocalStorage } from "node:async_hooks";
import type { Outbox } from "./outbox.ts";
import type { MailSizes } from "./outbox-sizes.ts";

/** How long counts are reused before they are read again, in milliseconds. */
const FRESH_MS = 5000;
/** How long to wait for the database, in milliseconds. */
const WAIT_MS = 1000;
/** The age at which counts are too old to be shown, in milliseconds. */
const OUTDATED_MS = 5 * 60_000;

/**
 * The contents of the outbox, for statistics. They are read from the database in the background, and reading them never
 * fails.
 */
export class OutboxCounts {
  readonly #find: () => Promise<Outbox | null>;
  /** Reads the counts outside of the caller's transaction and request. */
  readonly #outside = AsyncLocalStorage.snapshot();
  #latest: MailSizes | null = null;
  /** When the counts were last read, by `performance.now()`. */
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;

  /** @param find finds the outbox; `null` if mails wait in memory */
  constructor(find: () => Promise<Outbox | null>) {
    this.#find = find;
  }

  /**
   * The latest counts, at most five minutes old; `null` if unknown. If they are older than five seconds, they are read
   * again in the background, for the next caller.
   */
  read(): MailSizes | null {
    const latest = this.#age < OUTDATED_MS ? this.#latest : null;
    void this.#look();
    return latest;
  }

  /**
   * Resolves when the counts are at most five seconds old. They are unknown if the database can't be read within a
   * second.
   */
  async refresh(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#latest = null;
      resolve();
    }, WAIT_MS);
    await Promise.race([this.#look(), late]);
    clearTimeout(timer);
  }

  get #age(): number {
    return performance.now() - this.#lookedAt;
  }

  async #look(): Promise<void> {
    if (this.#age < FRESH_MS) return;
    this.#looking ??= this.#outside(async () => {
      try {
        this.#latest = (await (await this.#find())?.sizes()) ?? null;
      } catch {
        // The application's own statements report that the database is down.
        this.#latest = null;
      } finally {
        this.#lookedAt = performance.now();
        this.#looking = null;
      }
    });
    await this.#looking;
  }
}
