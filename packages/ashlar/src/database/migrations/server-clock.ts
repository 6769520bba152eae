import { sql } from "kysely";
import type { Logger } from "../../kernel/index.ts";
import { correctClock } from "../../support/index.ts";
import type { Connection } from "../connections/connection.ts";

/** Smaller differences don't matter, because signed and sealed values tolerate a minute. */
const TOLERATED_MS = 1000;
/** With a larger difference, one of the clocks was never set, and it may be the server's. */
const MAX_CORRECTION_MS = 60 * 60_000;
/** If a response took longer, the server's time isn't known precisely enough. */
const MAX_DURATION_MS = 1000;
const INTERVAL_MS = 60_000;
/**
 * How often to check whether the machine's clock was set, or the last response took too long. The check itself costs
 * nothing.
 */
const WATCH_MS = 1000;

/**
 * Makes the framework's clock follow the database server's, which all processes share. Otherwise, a process on a
 * machine with a wrong clock would issue tokens that other processes refuse, and end logins that they have just
 * renewed. A difference is logged once.
 */
export class ServerClock {
  readonly #connection: Connection;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #isWrong = false;
  /** Whether the last response took too long. */
  #isVague = false;

  constructor(connection: Connection, logger: Logger) {
    this.#connection = connection;
    this.#logger = logger;
  }

  /**
   * Compares the clocks now, and then once a minute. Also compares them within a second after the machine's clock was
   * set, because the correction is wrong until then, or after a response took too long. Does nothing if the database
   * runs in this process.
   */
  async start(): Promise<void> {
    if (this.#connection.dialect.values.serverTime === null) return;
    await this.compare();
    // The timer doesn't keep the process alive.
    this.#timer = setInterval(() => void this.compare(), INTERVAL_MS).unref();
    let bootedAt = Date.now() - performance.now();
    this.#watch = setInterval(() => {
      const seen = Date.now() - performance.now();
      if (Math.abs(seen - bootedAt) < TOLERATED_MS && !this.#isVague) return;
      bootedAt = seen;
      void this.compare();
    }, WATCH_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    clearInterval(this.#watch);
    if (this.#isWrong) correctClock(0);
  }

  /** Compares the clocks once. Never rejects: if the database doesn't respond, whatever needs it reports that. */
  async compare(): Promise<void> {
    this.#isVague = false;
    const aheadMs = await this.#measure().catch(() => null);
    if (aheadMs === null) return;
    const distance = Math.abs(aheadMs);
    const isWrong = distance >= TOLERATED_MS;
    correctClock(isWrong && distance <= MAX_CORRECTION_MS ? -aheadMs : 0);
    if (isWrong !== this.#isWrong) this.#report(aheadMs, isWrong);
    this.#isWrong = isWrong;
  }

  /**
   * How far the machine's clock is ahead of the server's, in milliseconds; `null` if the response took too long to
   * tell.
   */
  async #measure(): Promise<number | null> {
    const { kysely, dialect } = this.#connection;
    const query = kysely.selectNoFrom(sql<number>`${dialect.values.serverTime}`.as("time"));
    const [before, began] = [Date.now(), performance.now()];
    const { time } = await query.executeTakeFirstOrThrow();
    const duration = performance.now() - began;
    this.#isVague = duration > MAX_DURATION_MS;
    return this.#isVague ? null : Math.round(before + duration / 2 - Number(time));
  }

  #report(aheadMs: number, isWrong: boolean): void {
    if (!isWrong) {
      this.#logger.info("The machine's clock agrees with the database server's again.");
      return;
    }
    const seconds = Math.round(Math.abs(aheadMs) / 1000);
    const problem = `The machine's clock is ${seconds} seconds ${aheadMs > 0 ? "ahead of" : "behind"} the database server's.`;
    const isUsed = Math.abs(aheadMs) <= MAX_CORRECTION_MS;
    const consequence = isUsed
      ? "The application uses the server's time."
      : "That is too much to correct: tokens, logins and limits are checked against the wrong time.";
    this.#logger.warn({ seconds: aheadMs / 1000 }, `${problem} ${consequence} Let both follow a time server (NTP).`);
  }
}
