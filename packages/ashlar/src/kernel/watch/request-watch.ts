import type { HttpContext, RouteInfo } from "../../http/index.ts";
import { type AshlarError, ERRORS, traceChannels } from "../../support/index.ts";
import type { LoggablePaths } from "../log/loggable-path.ts";
import type { RequestLog } from "../log/request-log.ts";
import { type AbortReason, type EndWatch, servedExchange } from "../requests/served-request.ts";
import { endTrace } from "./request-tracing.ts";

/** A histogram of durations. */
export interface LatencyHistogram {
  /** The upper bounds of the buckets, in milliseconds. */
  readonly boundsMs: readonly number[];
  /** The number of durations in each bucket, and above the last bound. */
  readonly counts: readonly number[];
  /** The number of all durations. */
  readonly count: number;
  /** The sum of all durations, in milliseconds. */
  readonly sumMs: number;
}

/** Counts durations. Counting a duration changes two numbers, and allocates nothing. */
export class LatencyCounts {
  readonly #boundsMs: readonly number[];
  readonly #counts: Float64Array;
  #sumMs = 0;

  /** @param boundsMs the upper bounds of the buckets, ascending */
  constructor(boundsMs: readonly number[]) {
    this.#boundsMs = boundsMs;
    this.#counts = new Float64Array(boundsMs.length + 1);
  }

  count(durationMs: number): void {
    let index = 0;
    while (index < this.#boundsMs.length && durationMs > this.#boundsMs[index]!) index++;
    this.#counts[index]!++;
    this.#sumMs += durationMs;
  }

  read(): LatencyHistogram {
    const counts = [...this.#counts];
    const count = counts.reduce((sum, one) => sum + one, 0);
    return { boundsMs: this.#boundsMs, counts, count, sumMs: this.#sumMs };
  }
}

/** The upper bounds of the latency buckets, in milliseconds. There is another bucket for longer latencies. */
export const LATENCY_BOUNDS_MS: readonly number[] = Object.freeze([
  1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000,
]);

/** The classes of statuses, by their first digit. The first class is for requests without a response. */
const STATUS_CLASSES = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"] as const;

/** A class of statuses: `4xx`, or `none` if no response was sent. */
export type StatusClass = (typeof STATUS_CLASSES)[number];

/** The requests to one route since the application started. */
export interface RouteStats {
  /**
   * The route's pattern, `/orders/@id:int`; `null` for all requests without a route: those for files, mounts, and
   * unknown paths.
   */
  readonly route: string | null;
  /** The route's methods; none if there is no route. */
  readonly methods: readonly string[];
  /** How many requests ended with each class of status. Classes that didn't occur are missing. */
  readonly statuses: Readonly<Partial<Record<StatusClass, number>>>;
  readonly latency: LatencyHistogram;
}

/** A route's counters. Counting a request changes three numbers, and allocates nothing. */
class RouteCounters {
  readonly statuses: Float64Array = new Float64Array(STATUS_CLASSES.length);
  readonly latency: LatencyCounts = new LatencyCounts(LATENCY_BOUNDS_MS);

  count(status: number | null, durationMs: number): void {
    const first = status === null ? 0 : Math.trunc(status / 100);
    this.statuses[first < STATUS_CLASSES.length ? first : 0]!++;
    this.latency.count(durationMs);
  }
}

/**
 * Counts requests by route, status and duration. Whatever clients send, there is only one counter per route, and one
 * for all paths without a route.
 */
export class RequestStats {
  readonly #routes = new Map<RouteInfo | null, RouteCounters>();

  /** @param status the status of the response; `null` if there wasn't one */
  count(route: RouteInfo | null, status: number | null, durationMs: number): void {
    let counters = this.#routes.get(route);
    if (counters === undefined) {
      counters = new RouteCounters();
      this.#routes.set(route, counters);
    }
    counters.count(status, durationMs);
  }

  /** The requests so far, by route. */
  read(): RouteStats[] {
    return [...this.#routes].map(([route, { statuses, latency }]) => {
      const seen = STATUS_CLASSES.flatMap((name, index) => (statuses[index] === 0 ? [] : [[name, statuses[index]!]]));
      return {
        route: route?.pattern ?? null,
        methods: route?.methods ?? [],
        statuses: Object.fromEntries(seen) as RouteStats["statuses"],
        latency: latency.read(),
      };
    });
  }
}

/**
 * Counts the errors that requests ended with, by code. There are never more counters than declared codes, even if an
 * application's own error class sets an undeclared code.
 */
export class ErrorCounts {
  readonly #counts = new Map<string, number>();

  count({ code }: Pick<AshlarError, "code">): void {
    const declared = Object.hasOwn(ERRORS, code) ? code : "E_INTERNAL";
    this.#counts.set(declared, (this.#counts.get(declared) ?? 0) + 1);
  }

  /** How often each code has occurred. Codes that haven't occurred are missing. */
  read(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}

/** When a request ends, counts it, logs its line, and ends its trace. */
export class RequestWatch implements EndWatch {
  readonly #stats: RequestStats;
  readonly #log: RequestLog | null;
  readonly #paths: LoggablePaths;

  /** @param log `null` if requests are not logged */
  constructor(stats: RequestStats, log: RequestLog | null, paths: LoggablePaths) {
    this.#stats = stats;
    this.#log = log;
    this.#paths = paths;
  }

  ended(
    context: HttpContext,
    startedAt: number,
    status: number | null,
    aborted: AbortReason | null,
    bytes: number | null,
  ): void {
    const durationMs = performance.now() - startedAt;
    this.#stats.count(context.request.route(), status, durationMs);
    // Thousands of requests may be refused under overload. They are logged in only two lines in total.
    const isRefused = servedExchange(context.request.raw)?.isRefused === true;
    if (!isRefused) this.#log?.write(context, { status, aborted, durationMs, bytes });
    if (traceChannels.request.hasSubscribers) endTrace(context, this.#paths, status, aborted);
  }
}
