import { afterAnswer } from "./after-answer.ts";
import type { Logger } from "./logger.ts";

interface Job {
  /** What it does, for the log: `a password reset`. */
  readonly name: string;
  readonly work: () => Promise<void>;
}

/** So many jobs are under way at once. */
const CONCURRENCY = 8;

/** Jobs that requests leave behind: begun after the answer, in order, a few at a time. They are kept in memory. */
export class Background {
  readonly #logger: Logger;
  /** Those whose request has not been answered yet, in order. */
  readonly #held = new Set<Job>();
  readonly #ready: Job[] = [];
  #running = 0;
  /** Resolved when jobs begin or end. */
  #step: PromiseWithResolvers<void> | null = null;

  /** @param logger is told of jobs that fail */
  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** How many jobs are not done yet. */
  get pending(): number {
    return this.#held.size + this.#ready.length + this.#running;
  }

  /**
   * Does a job after the answer; see {@link afterAnswer}. One that fails is logged.
   *
   * @param name what it does, for the log
   */
  run(name: string, work: () => Promise<void>): void {
    const job: Job = { name, work };
    this.#held.add(job);
    afterAnswer(() => this.#begin(job));
  }

  /** Resolves once no job is left. It does not wait for answers: what waits for one begins now. */
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
      this.#logger.error({ err: error, job: name }, "A job in the background failed.");
    }
    this.#running--;
    this.#advance();
  }
}
