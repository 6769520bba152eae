import { AshlarError, type MaybePromise } from "../support/index.ts";

interface Waiter {
  readonly proceed: () => void;
  readonly timer: NodeJS.Timeout | undefined;
}

/** Lets one task in at a time; the others wait in the order in which they came. */
export class Mutex {
  readonly #timeoutMs: number;
  readonly #waiting = new Set<Waiter>();
  #held = false;

  /** @param timeoutMs how long a task may wait for its turn, in milliseconds */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Whether it is free, so that `run` and `acquire` don't wait. */
  get free(): boolean {
    return !this.#held;
  }

  /**
   * Waits for the caller's turn, or not at all if the mutex is free. `release` must follow.
   *
   * @param patient whether to wait indefinitely
   * @throws `E_OVERLOADED` if the timeout passes before the turn comes
   */
  acquire(patient = false): MaybePromise<void> {
    if (!this.#held) {
      this.#held = true;
      return;
    }
    return new Promise((resolve, reject) => {
      const timer = patient ? undefined : setTimeout(() => giveUp(), this.#timeoutMs);
      const waiter: Waiter = { proceed: resolve, timer };
      // Waiting forever would be a deadlock if a transaction awaits, even indirectly, a query outside of it.
      const giveUp = (): void => {
        this.#waiting.delete(waiter);
        const others = this.#waiting.size === 0 ? "" : `, and ${this.#waiting.size} more are waiting for it`;
        const problem = `No turn on the connection to the database came within ${this.#timeoutMs} ms: transactions are using it${others}.`;
        const remedy = "Keep transactions short, or set acquireTimeoutMs in config/database.ts.";
        reject(new AshlarError("E_OVERLOADED", `${problem} ${remedy}`));
      };
      this.#waiting.add(waiter);
    });
  }

  /** Lets the next one in. */
  release(): void {
    for (const waiter of this.#waiting) {
      this.#waiting.delete(waiter);
      clearTimeout(waiter.timer);
      // It stays held: the turn is handed over, so that no other caller gets in between.
      waiter.proceed();
      return;
    }
    this.#held = false;
  }

  /** Runs one task exclusively. If the mutex is free and the task is synchronous, so is this. */
  run<T>(task: () => MaybePromise<T>): MaybePromise<T> {
    const turn = this.acquire();
    if (turn !== undefined) return turn.then(() => this.#runHeld(task));
    return this.#runHeld(task);
  }

  #runHeld<T>(task: () => MaybePromise<T>): MaybePromise<T> {
    let result: MaybePromise<T>;
    try {
      result = task();
    } catch (error) {
      this.release();
      throw error;
    }
    if (result instanceof Promise) return result.finally(() => this.release());
    this.release();
    return result;
  }
}
