import { performance } from "node:perf_hooks";
import type { Logger } from "../../kernel/index.ts";

/** How long the event loop is measured before each decision, in milliseconds. */
const PERIOD_MS = 3_000;
/** The share of a period above which a server counts as busy. */
const BUSY = 0.2;
/** The share below which it counts as idle. */
const IDLE = 0.05;
/** The largest heap to collect, in bytes. A collection pauses the process for about a millisecond per megabyte in use. */
const MAX_HEAP_BYTES = 64 * 1024 * 1024;
const BYTES_PER_MB = 1024 * 1024;

/**
 * Returns memory to the system when a busy server has become idle. V8 collects garbage only when it needs space, so a server
 * without requests would keep the garbage of its last requests, and the heap that they needed.
 */
export class MemoryRelease {
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | null = null;
  #wasBusy = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Starts to measure unless it has already been started. */
  start(): void {
    if (this.#timer !== null) return;
    let since = performance.eventLoopUtilization();
    const check = () => {
      const { utilization } = performance.eventLoopUtilization(since);
      if (this.isDue(utilization, process.memoryUsage().heapUsed)) this.#release();
      since = performance.eventLoopUtilization();
    };
    this.#timer = setInterval(check, PERIOD_MS).unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /**
   * Decides at the end of a period whether to release memory: once each time that a busy server becomes idle.
   *
   * @param utilization the share of the period that the event loop was busy, from 0 to 1
   * @param heapBytes how much of the heap is in use, in bytes
   */
  isDue(utilization: number, heapBytes: number): boolean {
    if (utilization >= BUSY) this.#wasBusy = true;
    if (!this.#wasBusy || utilization > IDLE) return false;
    this.#wasBusy = false;
    return heapBytes <= MAX_HEAP_BYTES;
  }

  #release(): void {
    const before = process.memoryUsage.rss();
    const startedAt = performance.now();
    releaseMemory();
    const freedMb = Math.round((before - process.memoryUsage.rss()) / BYTES_PER_MB);
    const durationMs = Math.round(performance.now() - startedAt);
    this.#logger.debug({ freedMb, durationMs }, "Memory was returned to the system after a busy time.");
  }
}

type Collect = (options: { readonly type: "major"; readonly flavor: "last-resort" }) => void;

let collect: Collect | null = null;

/** Collects all garbage, shrinks the heap, and returns the freed memory to the system. It blocks the process. */
export function releaseMemory(): void {
  collect ??= exposedCollect();
  collect({ type: "major", flavor: "last-resort" });
}

/** V8's function to collect garbage. Node.js has it only with `--expose-gc`, which also takes effect for new contexts. */
function exposedCollect(): Collect {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  setFlagsFromString("--expose-gc");
  const exposed = process.getBuiltinModule("node:vm").runInNewContext("gc") as Collect;
  setFlagsFromString("--no-expose-gc");
  return exposed;
}
