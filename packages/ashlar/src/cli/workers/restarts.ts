/** A worker that has served for this long was healthy, so earlier deaths no longer count. In milliseconds. */
const HEALTHY_MS = 10_000;
const FIRST_PAUSE_MS = 500;
/** The longest pause after a failed boot. It is long, because the next boot is unlikely to succeed. */
const MAX_PAUSE_MS = 30_000;
/**
 * The longest pause after the death of a worker that has served. The next worker will probably serve too, so the pause
 * only limits the cost of boots.
 */
const MAX_PAUSE_AFTER_SERVING_MS = 2000;
/**
 * The longest pause while no worker is left. Connections are accepted and wait, so proxies don't try another instance.
 */
const MAX_PAUSE_WITHOUT_ANY_MS = 1000;
/** How many boots in a row may fail before the process gives up. */
const MAX_FAILED_BOOTS = 5;

/** How a worker ended. */
export interface Death {
  /** Whether the worker has ever taken connections. */
  readonly hasServed: boolean;
  /** How long the worker took connections, in milliseconds. */
  readonly servedMs: number;
  /** Whether no other worker takes connections. */
  readonly isLast: boolean;
}

/** Decides when a dead worker is replaced: the first one at once, and later ones after growing pauses. */
export class Restarts {
  #deaths = 0;
  #failedBoots = 0;

  /**
   * Counts a death.
   *
   * @returns how long to wait before the next worker is started, in milliseconds; `null` to give up
   */
  after({ hasServed, servedMs, isLast }: Death): number | null {
    this.#failedBoots = hasServed ? 0 : this.#failedBoots + 1;
    if (this.#failedBoots >= MAX_FAILED_BOOTS) return null;
    this.#deaths = hasServed && servedMs >= HEALTHY_MS ? 1 : this.#deaths + 1;
    return this.#deaths === 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (this.#deaths - 2), maximumAfter(hasServed, isLast));
  }

  /** Forgets failed boots, because one has succeeded. */
  booted(): void {
    this.#failedBoots = 0;
  }
}

function maximumAfter(hasServed: boolean, isLast: boolean): number {
  if (!hasServed) return MAX_PAUSE_MS;
  return isLast ? MAX_PAUSE_WITHOUT_ANY_MS : MAX_PAUSE_AFTER_SERVING_MS;
}
