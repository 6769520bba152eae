import { randomInt } from "node:crypto";
import { afterResponse, type Logger } from "../../kernel/index.ts";
import { MailPlaces } from "./mail-places.ts";
import type { ClaimedRow } from "./outbox-claims.ts";
import type { OutboxRows, RowWork } from "./outbox-rows.ts";
import type { MailPriority } from "./outbox-table.ts";
import { type Entry, OwnClaims } from "./own-claims.ts";
import { ServerOutage, type ServerState } from "./server-outage.ts";
import { Wakes } from "./wakes.ts";

/** Options of an {@link OutboxWorker}. */
export interface OutboxWorkerOptions {
  readonly rows: OutboxRows;
  /** How many rows are worked on at once. */
  readonly concurrency: number;
  /** How long a claim lasts, in milliseconds. */
  readonly claimMs: number;
  /** How often the table is polled, in milliseconds. */
  readonly pollMs: number;
  /** The first pause when the mail server is down, in milliseconds. */
  readonly outagePauseMs: number;
  readonly logger: Logger;
  /** Returns the work on a row that this process didn't write. */
  readonly workOn: (row: ClaimedRow) => RowWork;
}

/** A process that has claimed more rows than this stops polling, because each poll lists them. */
const MAX_OWN = 1000;
/** How long a shutdown waits for aborted attempts to report whether the server may have their mails, in milliseconds. */
const SETTLE_MS = 500;

/**
 * Works on the outbox's rows: on its own process's rows as soon as the response has been sent, and on rows that other
 * processes left, for which it polls.
 */
export class OutboxWorker {
  readonly #options: OutboxWorkerOptions;
  readonly #claims: OwnClaims;
  /** Rows whose request hasn't been responded to yet. */
  readonly #held = new Set<Entry>();
  readonly #places: MailPlaces<Entry>;
  readonly #outage: ServerOutage;
  readonly #runs = new Set<Promise<void>>();
  /** Timers for polling when a row is due again. */
  readonly #wakes = new Wakes();
  /** Whether it is closing. It then finishes the rows that it has claimed, and claims no more. */
  #isClosing = false;
  readonly #stop = new AbortController();
  #poll: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  /** Whether there may be due rows that wait for a slot. */
  #hasMore = false;
  /** Whether this process has stored rows that it didn't claim, and hasn't polled since. */
  #isOffered = false;
  #isReadable = true;
  /** Whether a shutdown has begun to refuse further attempts. */
  #isEnding = false;
  #step: PromiseWithResolvers<void> | null = null;

  constructor(options: OutboxWorkerOptions) {
    this.#options = options;
    this.#claims = new OwnClaims(options.rows, options.claimMs, options.logger);
    this.#places = new MailPlaces(options.concurrency);
    this.#outage = new ServerOutage(options.outagePauseMs);
  }

  /**
   * How many rows this process has claimed. It doesn't include rows that are waiting for another attempt, which any
   * process may claim.
   */
  get pending(): number {
    return this.#claims.size;
  }

  /** Works on a row that this process has written, after the response; see {@link adopt}. */
  add(id: string, work: RowWork, claimedAt: number, priority: MailPriority): void {
    const entry = this.adopt(id, work, claimedAt, priority);
    this.#held.add(entry);
    afterResponse(() => this.#begin(entry));
  }

  /** Polls after the response, because this process has written a row that it didn't claim. */
  offer(): void {
    this.#isOffered = true;
    afterResponse(() => void this.look());
  }

  /**
   * Takes over a row that this process has claimed. {@link run} works on it.
   *
   * @param claimedAt the time before the statement that claimed it, by `performance.now()`
   */
  adopt(id: string, work: RowWork, claimedAt: number, priority: MailPriority): Entry {
    return this.#claims.add(id, work, claimedAt, priority);
  }

  /** Works on a row, unless another process has taken it over. Never rejects. */
  async run(entry: Entry): Promise<void> {
    try {
      if (!(await this.#claims.isHeld(entry))) return;
      const { pauseMs, server } = await entry.work(AbortSignal.any([this.#stop.signal, entry.lost.signal]));
      this.#learn(server);
      if (pauseMs !== null) this.#lookAt(performance.now() + pauseMs + 1);
    } catch (error) {
      // Once the claim expires, the row is tried again.
      if (!this.#stop.signal.aborted) this.#options.logger.error({ err: error }, "The outbox could not be written.");
      return;
    } finally {
      this.#claims.delete(entry);
      this.#stepped();
    }
  }

  /** Polls for other processes' rows, now and at regular intervals. */
  start(): void {
    if (this.#poll !== null || this.#isClosing) return;
    const { pollMs } = this.#options;
    const again = () => {
      // Random, so that not all processes poll at the same time.
      this.#poll = setTimeout(
        async () => {
          await this.look();
          if (!this.#isClosing) again();
        },
        randomInt(Math.ceil(pollMs * 0.75), Math.ceil(pollMs * 1.25) + 1),
      ).unref();
    };
    again();
    void this.look();
  }

  /** Claims as many due rows as there is room for. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
      this.#stepped();
    });
    return this.#looking;
  }

  /**
   * Resolves once each of this process's rows has been tried, and no other row is due. Doesn't wait for responses to
   * try rows.
   */
  async settled(): Promise<void> {
    while (this.pending > 0 || this.#looking !== null || ((this.#isOffered || this.#hasMore) && !this.#isClosing)) {
      this.#step ??= Promise.withResolvers();
      setImmediate(() => {
        for (const entry of this.#held) this.#begin(entry);
        if (this.#isOffered) void this.look();
      });
      await this.#step.promise;
    }
  }

  /**
   * Tries the claimed rows once more, and releases those that aren't done in time. Attempts begin only in the first
   * half of that time, so that most mail servers can respond in the second half. A mail that is cut off may arrive
   * twice.
   *
   * @returns how many rows it released
   */
  async close(seconds: number): Promise<number> {
    this.#isClosing = true;
    clearTimeout(this.#poll ?? undefined);
    this.#wakes.clear();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, seconds * 1000);
    const half = setTimeout(() => {
      this.#isEnding = true;
      this.#stepped();
    }, seconds * 500);
    await Promise.race([this.#drained(), late]);
    clearTimeout(timer);
    clearTimeout(half);
    this.#isEnding = true;
    this.#stop.abort();
    this.#claims.stopRenewing();
    const left = this.#claims.ids;
    await this.#settle();
    this.#claims.clear();
    await this.#release(left);
    return left.length;
  }

  /** Waits briefly for aborted attempts to postpone rows whose mails the server may already have. */
  async #settle(): Promise<void> {
    if (this.#runs.size === 0) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, SETTLE_MS);
    await Promise.race([Promise.all(this.#runs), late]);
    clearTimeout(timer);
  }

  /** Releases rows for other processes. Never rejects. */
  async #release(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    try {
      await this.#options.rows.release(ids);
    } catch (error) {
      const line = { err: error, mails: ids.length };
      this.#options.logger.error(line, "Mails in the outbox could not be released: they wait until their claims end.");
    }
  }

  async #drained(): Promise<void> {
    await this.#looking;
    while (this.#claims.size > 0 && !(this.#isEnding && this.#runs.size === 0)) {
      this.#step ??= Promise.withResolvers();
      setImmediate(() => {
        for (const entry of this.#held) this.#begin(entry);
      });
      await this.#step.promise;
    }
  }

  #begin(entry: Entry): void {
    if (!this.#held.delete(entry)) return;
    if (this.#outage.isOn && !this.#isClosing) {
      this.#handBack([entry]);
      this.#stepped();
      return;
    }
    this.#places.add(entry, entry.priority);
    this.#advance();
  }

  #advance(): void {
    while (!this.#isEnding) {
      const placed = this.#places.enter();
      if (placed === null) break;
      const run = this.run(placed.item).then(() => {
        this.#runs.delete(run);
        this.#places.leave(placed);
        this.#advance();
        this.#stepped();
      });
      this.#runs.add(run);
    }
    if (this.#hasMore) void this.look();
  }

  async #look(): Promise<void> {
    const { rows, workOn, logger } = this.#options;
    const { isOn, retryAt } = this.#outage;
    this.#isOffered = false;
    this.#hasMore = false;
    if (isOn && (this.#runs.size > 0 || performance.now() < retryAt)) return;
    const room = isOn ? { all: 1, bulk: 1 } : this.#places.room;
    this.#hasMore = room.all <= 0;
    if (this.#hasMore || this.#isClosing || this.#claims.size > MAX_OWN) return;
    const askedAt = performance.now();
    try {
      const claimed = await rows.claim(room, this.#claims.ids);
      // The database took longer than the shutdown waits.
      if (this.#stop.signal.aborted) return await this.#release(claimed.map(({ id }) => id));
      this.#isReadable = true;
      const bulk = claimed.filter(({ priority }) => priority === "bulk").length;
      this.#hasMore = !isOn && (claimed.length >= room.all || bulk >= room.bulk);
      for (const row of claimed) {
        this.#places.add(this.adopt(row.id, workOn(row), askedAt, row.priority), row.priority);
      }
      this.#advance();
    } catch (error) {
      // Logs one line per outage, not one per poll.
      if (this.#isReadable && !this.#stop.signal.aborted) {
        logger.error({ err: error }, "The outbox of mails could not be read. It is tried again.");
      }
      this.#isReadable = false;
    }
  }

  #lookAt(dueAt: number): void {
    if (this.#isClosing) return;
    this.#wakes.at(dueAt, async () => {
      // A poll that is under way may have queried before the row was due.
      await this.#looking;
      await this.look();
    });
  }

  /** Records what an attempt has shown about the mail server. */
  #learn(server: ServerState): void {
    const outage = this.#outage;
    // Waiting rows can be processed once the outage is over, or if they don't need the mail server.
    if (outage.learn(server) || (outage.isOn && server === null)) this.#hasMore = true;
    if (!outage.isOn || server !== "unreachable") return;
    this.#lookAt(outage.retryAt + 1);
    if (!this.#isClosing) this.#handBack(this.#places.clear());
  }

  /** Releases rows until the outage is over. */
  #handBack(entries: readonly Entry[]): void {
    for (const entry of entries) this.#claims.delete(entry);
    void this.#release(entries.map(({ id }) => id));
  }

  #stepped(): void {
    this.#step?.resolve();
    this.#step = null;
  }
}
