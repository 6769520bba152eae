import { type EventLoopUtilization, monitorEventLoopDelay, performance } from "node:perf_hooks";

/** How often the delay is measured, in milliseconds. Each measurement costs less than a microsecond. */
const RESOLUTION_MS = 20;
/** How long a period of measurements lasts, in milliseconds. */
const PERIOD_MS = 10_000;
const NS_PER_MS = 1_000_000;

/** How busy the event loop was during the last complete period of ten seconds, or so far during the first. */
export interface EventLoopStats {
  /** The share of the time that the event loop was busy, from 0 to 1. At 1, requests wait for each other. */
  readonly utilization: number;
  /** How late timers ran, in milliseconds. */
  readonly delayMs: { readonly mean: number; readonly p50: number; readonly p99: number; readonly max: number };
}

/** Measures the delay of the event loop while a server runs. */
export class EventLoopWatch {
  #histogram: ReturnType<typeof monitorEventLoopDelay> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #since: EventLoopUtilization | null = null;
  #last: EventLoopStats | null = null;

  /** Starts to measure unless it has already been started. */
  start(): void {
    if (this.#histogram !== null) return;
    this.#histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#histogram.enable();
    this.#since = performance.eventLoopUtilization();
    this.#timer = setInterval(() => this.endPeriod(), PERIOD_MS).unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#histogram?.disable();
    this.#histogram = null;
  }

  /** Ends a period and starts the next one. */
  endPeriod(): void {
    this.#last = this.#measured();
    this.#histogram?.reset();
    this.#since = performance.eventLoopUtilization();
  }

  /** @returns `null` unless it has been started */
  read(): EventLoopStats | null {
    return this.#histogram === null ? null : (this.#last ?? this.#measured());
  }

  #measured(): EventLoopStats | null {
    const histogram = this.#histogram;
    if (histogram === null || this.#since === null) return null;
    // Node.js records the time between two measurements, which is the delay plus the resolution.
    const delay = (ns: number) => (histogram.count === 0 ? 0 : Math.max(0, ns / NS_PER_MS - RESOLUTION_MS));
    return {
      utilization: performance.eventLoopUtilization(this.#since).utilization,
      delayMs: {
        mean: delay(histogram.mean),
        p50: delay(histogram.percentile(50)),
        p99: delay(histogram.percentile(99)),
        max: delay(histogram.max),
      },
    };
  }
}
