import { AshlarError } from "../../support/index.ts";

/** How many callers use a connection, and how many wait how long for one. */
export interface SlotLimits {
  readonly poolSize: number;
  readonly acquireTimeoutMs: number;
  readonly maxWaiting: number;
}

interface Waiter {
  readonly proceed: () => void;
  readonly timer: NodeJS.Timeout;
}

/** The right to use one of a limited number of connections. Callers get it in the order in which they came. */
export class ConnectionSlots {
  readonly #limits: SlotLimits;
  readonly #waiting = new Set<Waiter>();
  #used = 0;
  #whenUnused: (() => void) | null = null;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** How many callers wait for a slot. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits for a slot. {@link release} must follow.
   *
   * @throws `E_OVERLOADED` if none became free in time, or if too many callers are waiting already
   */
  async take(): Promise<void> {
    const { poolSize, acquireTimeoutMs, maxWaiting } = this.#limits;
    if (this.#used < poolSize) {
      this.#used++;
      return;
    }
    if (this.#waiting.size >= maxWaiting) {
      const problem = `All connections to the database are in use, and ${maxWaiting} callers are waiting for one.`;
      throw new AshlarError("E_OVERLOADED", problem);
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(waiter);
        const problem = `No connection to the database was free within ${acquireTimeoutMs} ms.`;
        reject(new AshlarError("E_OVERLOADED", problem));
      }, acquireTimeoutMs);
      const waiter: Waiter = { proceed: resolve, timer };
      this.#waiting.add(waiter);
    });
  }

  release(): void {
    for (const waiter of this.#waiting) {
      this.#waiting.delete(waiter);
      clearTimeout(waiter.timer);
      // Handed over, so that no later caller gets in between.
      waiter.proceed();
      return;
    }
    this.#used--;
    if (this.#used === 0) this.#whenUnused?.();
  }

  /** Resolves once no slot is in use. */
  async unused(): Promise<void> {
    if (this.#used === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenUnused = resolve;
    });
  }
}
