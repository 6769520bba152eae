import { type Logger, outsideRequests } from "../../kernel/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import { OutOfTimeError, within } from "../process/within.ts";

/** A check of something that requests need. */
export interface ReadinessCheck {
  /** Its name in the log and in the details: `database`. */
  readonly name: string;
  /** Whether the application isn't ready while the check fails; default: `true`. */
  readonly failsReadiness?: boolean;
  /** Throws or rejects if the check fails. */
  readonly run: () => MaybePromise<void>;
}

/** The result of one check. `timeout`: it took too long. */
export type CheckResult = "ok" | "failed" | "timeout";

/** The results of all checks, by their names. */
export type CheckResults = Readonly<Record<string, CheckResult>>;

/** How long a check may take, in seconds. Load balancers usually wait that long, or a little longer. */
const CHECK_SECONDS = 2;
/** How long a check that doesn't affect readiness may take, in seconds. The load balancer waits for it too. */
const OTHER_CHECK_SECONDS = 1;
/** How long results are reused, in milliseconds, so that frequent requests don't run the checks each time. */
const SHARED_MS = 1000;

/** Runs the checks that `/ready` depends on, once for all requests within a second, and logs when the results change. */
export class Readiness {
  readonly #checks: readonly ReadinessCheck[];
  readonly #logger: Logger;
  /** The latest results, which may be pending. */
  #results: Promise<CheckResults> | null = null;
  #askedAt = 0;
  /** Checks that haven't ended, by their names, so that a check that hangs isn't started again. */
  readonly #running = new Map<string, Promise<void>>();
  /** The names of the failing checks, as last logged. */
  #failing = "";

  constructor(checks: readonly ReadinessCheck[], logger: Logger) {
    this.#checks = checks;
    this.#logger = logger;
  }

  /** The results, at most a second old. Never rejects. */
  results(): Promise<CheckResults> {
    const now = performance.now();
    if (this.#results === null || now - this.#askedAt >= SHARED_MS) {
      this.#askedAt = now;
      this.#results = this.#run();
    }
    return this.#results;
  }

  /** Whether all checks that affect readiness pass. */
  isReady(results: CheckResults): boolean {
    return this.#checks.every(({ name, failsReadiness = true }) => !failsReadiness || (results[name] ?? "ok") === "ok");
  }

  async #run(): Promise<CheckResults> {
    const errors: Record<string, unknown> = {};
    const results = await Promise.all(
      this.#checks.map(async (check): Promise<readonly [string, CheckResult]> => {
        const { name, failsReadiness = true } = check;
        try {
          await within(failsReadiness ? CHECK_SECONDS : OTHER_CHECK_SECONDS, this.#start(check));
          return [name, "ok"];
        } catch (error) {
          errors[name] = error;
          return [name, error instanceof OutOfTimeError ? "timeout" : "failed"];
        }
      }),
    );
    const all = Object.freeze(Object.fromEntries(results));
    this.#report(errors, this.isReady(all));
    return all;
  }

  #start({ name, run }: ReadinessCheck): Promise<void> {
    const running = this.#running.get(name);
    if (running !== undefined) return running;
    // A full database pool refuses work that belongs to a request. A check that ran as part of the probe's request would be
    // refused, too, so a busy instance would look as if it were down, and its load would move to the next instance.
    const started = outsideRequests(() => Promise.resolve().then(run)).finally(() => this.#running.delete(name));
    this.#running.set(name, started);
    // The check may fail after its time limit, when nothing awaits it anymore.
    started.catch(() => {});
    return started;
  }

  /** Logs a line when the set of failing checks changes, not for each request. */
  #report(errors: Readonly<Record<string, unknown>>, isReady: boolean): void {
    const names = Object.keys(errors).toSorted();
    const failing = names.join(", ");
    if (failing === this.#failing) return;
    this.#failing = failing;
    if (failing === "") this.#logger.info("The application is ready again: all checks pass.");
    else {
      const line = { err: errors[names[0]!], checks: names };
      const meaning = isReady ? "The application continues serving" : "The application is not ready for requests";
      this.#logger.warn(line, `${meaning}. These checks fail: ${failing}.`);
    }
  }
}
