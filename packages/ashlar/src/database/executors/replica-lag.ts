import type { Replicas } from "../dialect/dialect.ts";
import type { Executor } from "../dialect/executor.ts";

/** How many positions are queried in the time after which a replica counts as behind. */
const POSITIONS = 5;

interface Position {
  /** When it was the latest position, in milliseconds of `performance.now()`. */
  readonly at: number;
  readonly text: string;
}

/**
 * Finds out which replicas lag by more than `ownWritesSeconds`: those that lack something that the database had
 * committed before that. No clocks are compared, and an idle database makes none of them late.
 */
export class ReplicaLag {
  readonly #following: NonNullable<Replicas["following"]>;
  readonly #boundMs: number;
  /** The latest positions, and the newest one that every replica should have reached; the oldest first. */
  #positions: Position[] = [];
  #checkAt = Number.NEGATIVE_INFINITY;
  #isChecking = false;

  constructor(following: NonNullable<Replicas["following"]>, ownWritesSeconds: number) {
    this.#following = following;
    this.#boundMs = ownWritesSeconds * 1000;
  }

  /** Whether it is time to check again. */
  get isDue(): boolean {
    return !this.#isChecking && performance.now() >= this.#checkAt;
  }

  /**
   * Queries the database's position, and whether each replica is late. It never rejects: missing answers stay unknown.
   *
   * @param tell receives for each replica whether it is late; not called if that is unknown
   */
  async check(executors: readonly Executor[], tell: (executor: Executor, isBehind: boolean) => void): Promise<void> {
    const at = performance.now();
    this.#checkAt = at + this.#boundMs / POSITIONS;
    this.#isChecking = true;
    try {
      const text = await this.#following.position();
      if (text === null) return;
      this.#positions.push({ at, text });
      const due = this.#positions.findLastIndex((position) => position.at <= at - this.#boundMs);
      if (due === -1) return;
      this.#positions = this.#positions.slice(due);
      const [{ text: expected }] = this.#positions as [Position];
      const asked = executors.map(async (executor) => {
        const hasReached = await this.#following.hasReached(executor, expected);
        if (hasReached !== null) tell(executor, !hasReached);
      });
      await Promise.allSettled(asked);
    } catch {
      // The primary is down, or doesn't answer: a request will find out.
    } finally {
      this.#isChecking = false;
    }
  }
}
