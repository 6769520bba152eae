import { type Background, ErrorCounts, RequestStats, type RouteStats } from "../../kernel/index.ts";
import { type HashingUsage, hashingUsage } from "../../security/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import { type EventLoopStats, EventLoopWatch } from "../process/event-loop-watch.ts";

/** What the framework's features add to {@link ApplicationStats}. */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that features can augment it.
export interface FrameworkStats {}

/**
 * What an application is doing, as `application.stats()` returns it: plain objects with numbers, counted since the start
 * of the process unless stated otherwise. Your own features add numbers by declaration merging, and with
 * `application.addStats`.
 */
export interface ApplicationStats extends FrameworkStats {
  /** How long ago the application was created, in seconds. */
  readonly uptimeSeconds: number;
  /** The requests that have ended, by route. Routes without requests are missing. */
  readonly requests: readonly RouteStats[];
  /**
   * How many requests ended with each error code, such as `E_TOO_MANY_REQUESTS` or `E_INTERNAL`, including those whose
   * response was a page or a redirect. Codes that didn't occur are missing.
   */
  readonly errors: Readonly<Record<string, number>>;
  /** How busy the event loop is; `null` unless the application listens. */
  readonly eventLoop: EventLoopStats | null;
  /** How many passwords are being hashed, and how many are waiting, for all applications in the process. */
  readonly hashing: HashingUsage;
  /** How many background jobs that requests have started are unfinished. */
  readonly backgroundJobs: number;
  /**
   * When this process last deleted expired data without a failure, in milliseconds since 1970; `null` if it hasn't. If there
   * are several processes, only one of them does it each day.
   */
  readonly prunedAt: number | null;
  readonly process: {
    /** The process's resident memory, in bytes. */
    readonly residentBytes: number;
    /** The memory that JavaScript objects use, in bytes. */
    readonly heapUsedBytes: number;
    readonly heapTotalBytes: number;
    /** The CPU time that the process has used, in seconds. */
    readonly cpuSeconds: number;
  };
}

/** The names of the members that features add. */
export type StatsName = Exclude<keyof ApplicationStats, keyof BaseStats>;

type BaseStats = Pick<
  ApplicationStats,
  "uptimeSeconds" | "requests" | "errors" | "eventLoop" | "hashing" | "backgroundJobs" | "prunedAt" | "process"
>;

/** Collects an application's numbers when they are read. */
export class StatsCollector {
  readonly requests: RequestStats = new RequestStats();
  readonly errors: ErrorCounts = new ErrorCounts();
  readonly eventLoop: EventLoopWatch = new EventLoopWatch();
  readonly #startedAt = performance.now();
  readonly #features = new Map<string, () => unknown>();

  /** @throws `E_INVALID_CONFIGURATION` if the name is taken */
  add(name: string, read: () => unknown): void {
    if (this.#features.has(name)) {
      throw new ConfigurationError(`addStats("${name}")`, "is called twice.", "Choose another name.");
    }
    this.#features.set(name, read);
  }

  read(background: Background, prunedAt: number | null): ApplicationStats {
    const { rss, heapUsed, heapTotal } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const base: BaseStats = {
      uptimeSeconds: (performance.now() - this.#startedAt) / 1000,
      requests: this.requests.read(),
      errors: this.errors.read(),
      eventLoop: this.eventLoop.read(),
      hashing: hashingUsage(),
      backgroundJobs: background.pending,
      prunedAt,
      process: {
        residentBytes: rss,
        heapUsedBytes: heapUsed,
        heapTotalBytes: heapTotal,
        cpuSeconds: (user + system) / 1_000_000,
      },
    };
    const added = [...this.#features].map(([name, read]) => [name, read()]);
    return { ...(Object.fromEntries(added) as FrameworkStats), ...base };
  }
}
