import { randomInt } from "node:crypto";
import { afterCommit } from "../../support/index.ts";
import type { Logger } from "../logger.ts";
import { afterResponse, inSameRequest } from "./after-response.ts";

interface Job {
  /** The job's name in the log: `a password reset`. */
  readonly name: string;
  readonly work: () => Promise<void>;
}

/** The maximum number of jobs running at once. */
const CONCURRENCY = 8;

/** By how much an unpredictable job is late at most, in milliseconds. */
const MAX_DELAY_MS = 1000;

/** Jobs that requests leave behind: started after the response, in order, a few at a time. Kept in memory. */
export class Background {
  readonly #logger: Logger;
  /** Jobs whose request has no response yet, or whose time has not come, in order. */
  readonly #held = new Set<Job>();
  readonly #ready: Job[] = [];
  #running = 0;
  /** Resolved when jobs start or end. */
  #step: PromiseWithResolvers<void> | null = null;

  /** @param logger logs jobs that fail */
  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** How many jobs are unfinished. */
  get pending(): number {
    return this.#held.size + this.#ready.length + this.#running;
  }

  /**
   * Runs a job after the response; see {@link afterResponse}. In a database transaction it also waits for the commit, and
   * is forgotten if there is a rollback. A failing job is logged.
   *
   * @param name the job's name in the log
   */
  run(name: string, work: () => Promise<void>): void {
    this.#hold(name, work, (begin) => begin());
  }

  /**
   * As {@link run}, but the job starts at a random time within a second after the response.
   *
   * Security: for work whose extent must not be known, such as a mail that only an account gets. It takes processor time from
   * the requests after it: if it started at once, a client could measure that in its next request.
   */
  runUnpredictably(name: string, work: () => Promise<void>): void {
    this.#hold(name, work, (begin) => void setTimeout(begin, randomInt(MAX_DELAY_MS)));
  }

  #hold(name: string, work: () => Promise<void>, schedule: (begin: () => void) => void): void {
    const job: Job = { name, work: inSameRequest(work) };
    afterCommit(() => {
      this.#held.add(job);
      afterResponse(() => schedule(() => this.#begin(job)));
    });
  }

  /** Resolves once no job is left. It does not wait for responses or delays: jobs waiting for one start now. */
  async settled(): Promise<void> {
    while (this.pending > 0) {
      this.#step ??= Promise.withResolvers();
      setImmediate(() => {
        for (const job of this.#held) this.#begin(job);
      });
      await this.#step.promise;
    }
  }

  #begin(job: Job): void {
    if (!this.#held.delete(job)) return;
    this.#ready.push(job);
    this.#advance();
  }

  #advance(): void {
    while (this.#running < CONCURRENCY) {
      const job = this.#ready.shift();
      if (job === undefined) break;
      this.#running++;
      void this.#do(job);
    }
    this.#step?.resolve();
    this.#step = null;
  }

  async #do({ name, work }: Job): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#logger.error({ err: error, job: name }, "A background job failed.");
    }
    this.#running--;
    this.#advance();
  }
}
