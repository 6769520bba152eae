import type { Logger } from "../../kernel/index.ts";
import type { OutboxRows, RowWork } from "./outbox-rows.ts";
import type { MailPriority } from "./outbox-table.ts";

/** A row that this process has claimed. */
export interface Entry {
  readonly id: string;
  readonly work: RowWork;
  readonly priority: MailPriority;
  readonly lost: AbortController;
  /** The time until which no other process can claim it, by `performance.now()`. */
  heldUntil: number;
}

/** The rows that this process has claimed, whatever their state. Renews their claims. */
export class OwnClaims {
  readonly #rows: OutboxRows;
  /** How long a claim lasts, in milliseconds. */
  readonly #claimMs: number;
  readonly #logger: Logger;
  readonly #entries = new Map<string, Entry>();
  #renewal: NodeJS.Timeout | null = null;

  /** @param claimMs how long a claim lasts, in milliseconds */
  constructor(rows: OutboxRows, claimMs: number, logger: Logger) {
    this.#rows = rows;
    this.#claimMs = claimMs;
    this.#logger = logger;
  }

  get size(): number {
    return this.#entries.size;
  }

  get ids(): string[] {
    return [...this.#entries.keys()];
  }

  /** @param claimedAt the time before the statement that claimed the row, by `performance.now()` */
  add(id: string, work: RowWork, claimedAt: number, priority: MailPriority): Entry {
    const lost = new AbortController();
    const entry: Entry = { id, work, priority, lost, heldUntil: claimedAt + this.#claimMs };
    this.#entries.set(id, entry);
    this.#renewal ??= setInterval(() => void this.#renewAll(), this.#claimMs / 3).unref();
    return entry;
  }

  /** Removes a row that is done, or that other processes may claim. */
  delete(entry: Entry): void {
    this.#entries.delete(entry.id);
    if (this.#entries.size === 0) this.stopRenewing();
  }

  /** Removes all rows. */
  clear(): void {
    this.#entries.clear();
  }

  stopRenewing(): void {
    clearInterval(this.#renewal ?? undefined);
    this.#renewal = null;
  }

  /** Returns whether this process still holds the claim on a row. Call it before each attempt, which may be delayed. */
  async isHeld(entry: Entry): Promise<boolean> {
    if (performance.now() < entry.heldUntil - this.#claimMs / 3) return true;
    await this.#renew([entry]);
    return !entry.lost.signal.aborted;
  }

  async #renewAll(): Promise<void> {
    try {
      await this.#renew([...this.#entries.values()]);
    } catch (error) {
      this.#logger.debug({ err: error }, "Claims in the outbox could not be renewed.");
    }
  }

  async #renew(entries: readonly Entry[]): Promise<void> {
    const askedAt = performance.now();
    const held = await this.#rows.renew(entries.map(({ id }) => id));
    for (const entry of entries) {
      if (held.has(entry.id)) entry.heldUntil = askedAt + this.#claimMs;
      // If the row is finished by now, its claim wasn't lost.
      else if (this.#entries.has(entry.id)) entry.lost.abort();
    }
  }
}
