import { currentTrace } from "../../kernel/index.ts";
import { ControlledDelay, RefusedError } from "../../support/index.ts";

/** Limits for how many callers use a connection, how many wait for one, and how long. */
export interface SlotLimits {
  readonly poolSize: number;
  readonly acquireTimeoutMs: number;
  readonly maxWaiting: number;
}

/** Where the connections are, and how long requests may wait. */
export interface SlotPlace {
  /** The connection's location in the configuration. */
  readonly where: string;
  /** As in `DialectSetup`. */
  readonly maxQueueMs?: number;
}

interface Waiter {
  readonly proceed: () => void;
  readonly refuse: (problem: string) => void;
  readonly timer: NodeJS.Timeout;
  /** When it began to wait, in milliseconds of `performance.now()`. */
  readonly since: number;
}

/**
 * The right to use one of a limited number of connections.
 *
 * Callers get it in order of arrival, except that requests that have had one before come first: it is better to finish
 * running requests than to start requests that can't be finished. New requests wait in a separate queue. Under
 * overload, they are refused before they have done any work, so that as many requests are served as without the excess.
 */
export class ConnectionSlots {
  readonly #limits: SlotLimits;
  readonly #where: string;
  readonly #delay: ControlledDelay | null;
  /** The callers that have begun to use the database, or don't belong to a request. */
  readonly #underway = new Set<Waiter>();
  readonly #beginning = new Set<Waiter>();
  /** The requests that have had a connection. */
  readonly #begun = new WeakSet<object>();
  #used = 0;
  #whenUnused: (() => void) | null = null;

  constructor(limits: SlotLimits, { where, maxQueueMs = 0 }: SlotPlace) {
    this.#limits = limits;
    this.#where = where;
    this.#delay = maxQueueMs === 0 ? null : new ControlledDelay(maxQueueMs);
  }

  /** How many callers wait for a slot. */
  get waiting(): number {
    return this.#underway.size + this.#beginning.size;
  }

  /**
   * Waits for a slot. {@link release} must follow.
   *
   * @throws `E_OVERLOADED` if none became free in time, if too many callers are waiting already, or if a request begins while
   * others have waited too long
   */
  async take(): Promise<void> {
    const { poolSize, acquireTimeoutMs, maxWaiting } = this.#limits;
    const request = currentTrace();
    // The response has promised the work that follows it.
    const begins = request !== null && !request.isHandedOver && !this.#begun.has(request);
    if (this.#used < poolSize) {
      this.#used++;
      if (begins) this.#begun.add(request);
      return;
    }
    if (this.waiting >= maxWaiting) {
      const problem = `All connections to the database are in use, and ${maxWaiting} callers are waiting for one.`;
      throw this.#refusal(problem, 0);
    }
    const line = begins ? this.#beginning : this.#underway;
    if (begins && this.#stands()) throw this.#refusal(TOO_MANY, 0);
    await new Promise<void>((resolve, reject) => {
      const since = performance.now();
      const refuse = (problem: string): void => {
        line.delete(waiter);
        clearTimeout(timer);
        reject(this.#refusal(problem, performance.now() - since));
      };
      const timer = setTimeout(
        refuse,
        acquireTimeoutMs,
        `No connection to the database was free within ${acquireTimeoutMs} ms.`,
      );
      const waiter: Waiter = { proceed: resolve, refuse, timer, since };
      line.add(waiter);
    });
    if (begins) this.#begun.add(request);
  }

  release(): void {
    const waiter = this.#next();
    if (waiter !== undefined) {
      clearTimeout(waiter.timer);
      // The slot is handed over, so that no later caller can take it.
      waiter.proceed();
      return;
    }
    this.#delay?.emptied();
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

  /** Takes the next waiter out of its queue, and refuses those before it that have waited too long. */
  #next(): Waiter | undefined {
    for (const waiter of this.#underway) {
      this.#underway.delete(waiter);
      return waiter;
    }
    const now = performance.now();
    for (const waiter of this.#beginning) {
      this.#beginning.delete(waiter);
      if (!this.#delay?.refuses(now - waiter.since, this.#beginning.size, now)) return waiter;
      waiter.refuse(TOO_MANY);
    }
    return undefined;
  }

  /** Whether a request that begins now would have to wait behind others for too long. */
  readonly #stands = (): boolean => {
    const [first] = this.#beginning;
    const now = performance.now();
    return first !== undefined && this.#delay?.refusesBehind(now - first.since, this.#beginning.size, now) === true;
  };

  #refusal(problem: string, waitedMs: number): RefusedError {
    const why = `There are more requests than the database connections can serve: raise poolSize, or make statements faster.`;
    return RefusedError.of(problem, { why, bindings: { connection: this.#where }, waitedMs, stands: this.#stands });
  }
}

const TOO_MANY = "All connections to the database are in use, and others have waited too long for one.";
