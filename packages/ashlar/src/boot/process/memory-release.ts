import { performance } from "node:perf_hooks";
import type { Logger } from "../../kernel/index.ts";

/** How long the event loop is watched for each decision, in milliseconds. */
const PERIOD_MS = 3_000;
/** The part of a period in which a busy server works, at least. */
const BUSY = 0.2;
/** The part in which an idle one does, at most. */
const IDLE = 0.05;
/** The largest heap to collect, in bytes: a collection stops the process for about a millisecond for each megabyte in use. */
const MAX_HEAP_BYTES = 64 * 1024 * 1024;
const BYTES_PER_MB = 1024 * 1024;

/**
 * Returns memory to the system when a server that was busy has become idle. V8 collects garbage when it needs room, so a server
 * without requests keeps the garbage of its last ones, and the room that it needed for them.
 */
export class MemoryRelease {
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | null = null;
  #wasBusy = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Starts to watch, unless it has been started. */
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
   * Decides at the end of a period: once for each time that a busy server becomes idle.
   *
   * @param utilization the part of the period in which the event loop was working, from 0 to 1
   * @param heapBytes how much of the heap is in use
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

/** Collects all garbage, shrinks the heap to what is left, and returns the rest to the system. It blocks the process. */
export function releaseMemory(): void {
  collect ??= exposedCollect();
  collect({ type: "major", flavor: "last-resort" });
}

/** V8's function for it, which Node.js has only with `--expose-gc`, and a new context once that is set. */
function exposedCollect(): Collect {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  setFlagsFromString("--expose-gc");
  const exposed = process.getBuiltinModule("node:vm").runInNewContext("gc") as Collect;
  setFlagsFromString("--no-expose-gc");
  return exposed;
}
