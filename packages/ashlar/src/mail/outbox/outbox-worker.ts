import { randomInt } from "node:crypto";
import { afterResponse, type Logger } from "../../kernel/index.ts";
import { MailPlaces } from "./mail-places.ts";
import type { ClaimedRow } from "./outbox-claims.ts";
import type { OutboxRows, RowWork } from "./outbox-rows.ts";
import type { MailPriority } from "./outbox-table.ts";
import { ServerOutage, type ServerState } from "./server-outage.ts";
import { Wakes } from "./wakes.ts";

/** Options of an {@link OutboxWorker}. */
export interface OutboxWorkerOptions {
  readonly rows: OutboxRows;
  /** How many rows are worked on at once. */
  readonly concurrency: number;
  /** For how long a claim counts, in milliseconds. */
  readonly claimMs: number;
  /** How often the table is polled, in milliseconds. */
  readonly pollMs: number;
  /** The first pause of an outage of the mail server, in milliseconds. */
  readonly outagePauseMs: number;
  readonly logger: Logger;
  /** What to do with a row that this process did not write. */
  readonly workOn: (row: ClaimedRow) => RowWork;
}

/** A process with more rows of its own than this looks for no others: each look names them. */
const MAX_OWN = 1000;
/**
 * How long a shutdown waits for attempts that it has aborted to report whether the server may have their mails, in
 * milliseconds.
 */
const SETTLE_MS = 500;

/** A row that this process has claimed. */
export interface Entry {
  readonly id: string;
  readonly work: RowWork;
  readonly priority: MailPriority;
  readonly lost: AbortController;
  /** Until when no other process can have claimed it, by `performance.now()`. */
  heldUntil: number;
}

/**
 * Works on the rows of the outbox: on those that this process wrote, as soon as the response is out, and on those that
 * others left, which it looks for from time to time. While it works on a row, it renews the claim.
 */
export class OutboxWorker {
  readonly #options: OutboxWorkerOptions;
  /** All claimed rows, whatever their state. */
  readonly #entries = new Map<string, Entry>();
  /** Rows whose request has no response yet. */
  readonly #held = new Set<Entry>();
  readonly #places: MailPlaces<Entry>;
  readonly #outage: ServerOutage;
  readonly #runs = new Set<Promise<void>>();
  /** Timers of rows that this process will look for again. */
  readonly #wakes = new Wakes();
  /** Whether it is closing: it finishes the mails that it has claimed, and claims no more. */
  #isClosing = false;
  readonly #stop = new AbortController();
  #renewal: NodeJS.Timeout | null = null;
  #poll: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  /** Whether there may be due rows that wait for a slot. */
  #hasMore = false;
  /** Whether rows were stored for whichever process has room, and this one has not looked yet. */
  #isOffered = false;
  #isReadable = true;
  /** Whether a shutdown lets no further attempt begin. */
  #isEnding = false;
  #step: PromiseWithResolvers<void> | null = null;

  constructor(options: OutboxWorkerOptions) {
    this.#options = options;
    this.#places = new MailPlaces(options.concurrency);
    this.#outage = new ServerOutage(options.outagePauseMs);
  }

  /** How many rows this process has claimed. Those that wait for another attempt belong to all processes. */
  get pending(): number {
    return this.#entries.size;
  }

  /** Works on a row that this process has written, after the response; see {@link adopt}. */
  add(id: string, work: RowWork, claimedAt: number, priority: MailPriority): void {
    const entry = this.adopt(id, work, claimedAt, priority);
    this.#held.add(entry);
    afterResponse(() => this.#begin(entry));
  }

  /** Looks for rows after the response, because this process has written one that it has not claimed. */
  offer(): void {
    this.#isOffered = true;
    afterResponse(() => void this.look());
  }

  /**
   * Takes a row over that this process has claimed. {@link run} works on it.
   *
   * @param claimedAt when, by `performance.now()`: the time before the statement
   */
  adopt(id: string, work: RowWork, claimedAt: number, priority: MailPriority): Entry {
    const entry: Entry = {
      id,
      work,
      priority,
      lost: new AbortController(),
      heldUntil: claimedAt + this.#options.claimMs,
    };
    this.#entries.set(id, entry);
    this.#renewal ??= setInterval(() => void this.#renewAll(), this.#options.claimMs / 3).unref();
    return entry;
  }

  /** Works on a row, unless another process has taken it over. It never rejects. */
  async run(entry: Entry): Promise<void> {
    try {
      if (!(await this.#isHeld(entry))) return;
      const { pauseMs, server } = await entry.work(AbortSignal.any([this.#stop.signal, entry.lost.signal]));
      this.#learn(server);
      if (pauseMs !== null) this.#lookAt(performance.now() + pauseMs + 1);
    } catch (error) {
      // The claim ends by itself, and then the row is tried again.
      if (!this.#stop.signal.aborted) this.#options.logger.error({ err: error }, "The outbox could not be written.");
      return;
    } finally {
      this.#forget(entry);
      this.#stepped();
    }
  }

  /** Looks for rows of other processes, now and from time to time. */
  start(): void {
    if (this.#poll !== null || this.#isClosing) return;
    const { pollMs } = this.#options;
    const again = () => {
      // Not all processes at the same time.
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

  /** Claims rows that are due, as many as there is room for. It never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
      this.#stepped();
    });
    return this.#looking;
  }

  /**
   * Resolves once each row of this process has been tried, and no other is due. Rows that wait for a response start now.
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
   * Works on the claimed rows once more, and releases those that are not done in time. Attempts begin in the first half of it
   * only: most mail servers respond within the second, and a mail that is cut off may arrive twice.
   *
   * @returns how many it released
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
    clearInterval(this.#renewal ?? undefined);
    const left = [...this.#entries.keys()];
    await this.#settle();
    this.#entries.clear();
    await this.#release(left);
    return left.length;
  }

  /** Waits a moment for attempts that were aborted: they hold back rows whose mails the server may have. */
  async #settle(): Promise<void> {
    if (this.#runs.size === 0) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, SETTLE_MS);
    await Promise.race([Promise.all(this.#runs), late]);
    clearTimeout(timer);
  }

  /** Releases rows for other processes. It never rejects. */
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
    while (this.#entries.size > 0 && !(this.#isEnding && this.#runs.size === 0)) {
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
    if (this.#hasMore || this.#isClosing || this.#entries.size > MAX_OWN) return;
    const askedAt = performance.now();
    try {
      const claimed = await rows.claim(room, [...this.#entries.keys()]);
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
      // A poll that is under way may have queried before this.
      await this.#looking;
      await this.look();
    });
  }

  /** Uses an attempt's findings about the mail server. */
  #learn(server: ServerState): void {
    const outage = this.#outage;
    // Rows that wait during an outage can be processed once it is over, or if they don't need the mail server.
    if (outage.learn(server) || (outage.isOn && server === null)) this.#hasMore = true;
    if (!outage.isOn || server !== "unreachable") return;
    this.#lookAt(outage.retryAt + 1);
    if (!this.#isClosing) this.#handBack(this.#places.clear());
  }

  /** Leaves rows in the table, for the end of an outage. */
  #handBack(entries: readonly Entry[]): void {
    for (const entry of entries) this.#forget(entry);
    void this.#release(entries.map(({ id }) => id));
  }

  /** Whether no other process can have claimed a row; asked before each attempt, which may come late. */
  async #isHeld(entry: Entry): Promise<boolean> {
    if (performance.now() < entry.heldUntil - this.#options.claimMs / 3) return true;
    await this.#renew([entry]);
    return !entry.lost.signal.aborted;
  }

  async #renewAll(): Promise<void> {
    try {
      await this.#renew([...this.#entries.values()]);
    } catch (error) {
      this.#options.logger.debug({ err: error }, "Claims in the outbox could not be renewed.");
    }
  }

  async #renew(entries: readonly Entry[]): Promise<void> {
    const askedAt = performance.now();
    const held = await this.#options.rows.renew(entries.map(({ id }) => id));
    for (const entry of entries) {
      if (held.has(entry.id)) entry.heldUntil = askedAt + this.#options.claimMs;
      // A mail that is done by now isn't lost.
      else if (this.#entries.has(entry.id)) entry.lost.abort();
    }
  }

  #forget(entry: Entry): void {
    this.#entries.delete(entry.id);
    if (this.#entries.size > 0 || this.#renewal === null) return;
    clearInterval(this.#renewal);
    this.#renewal = null;
  }

  #stepped(): void {
    this.#step?.resolve();
    this.#step = null;
  }
}
