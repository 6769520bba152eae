import type { HttpContext } from "../../http/index.ts";
import { now } from "../../support/index.ts";
import { type AttemptKeys, type ThrottleKeys, throttleKey } from "../limits/keys.ts";
import type { Bucket } from "../limits/limit.ts";
import type { AttemptCounter, ThrottleStore } from "../stores/store.ts";
import type { ThrottleResult } from "./results.ts";

/** What was added to one bucket. */
export interface CountedAttempt {
  readonly bucket: Bucket;
  readonly counter: AttemptCounter;
  readonly key: string;
  /** Whether the bucket counts by account, alone or together with the address. */
  readonly isOfAccount: boolean;
  /** When the window that it was added to ends, in milliseconds since 1970. */
  readonly endsAt: number;
}

/** How a request was counted under one limit. */
export interface CountedRequest {
  readonly limit: string;
  readonly keys: AttemptKeys;
  readonly result: ThrottleResult;
  readonly attempts: readonly CountedAttempt[];
}

/** Remembers how each request was counted, so that a success can give back exactly that. */
export class CountedRequests {
  readonly #counted = new WeakMap<HttpContext, CountedRequest[]>();

  add(context: HttpContext, counted: CountedRequest): void {
    const before = this.#counted.get(context);
    if (before === undefined) this.#counted.set(context, [counted]);
    else before.push(counted);
  }

  /** How a request was counted, in order. */
  of(context: HttpContext): readonly CountedRequest[] {
    return this.#counted.get(context) ?? [];
  }

  /** How a request was counted under a limit. */
  under(context: HttpContext, limit: string): readonly CountedRequest[] {
    return this.of(context).filter((counted) => counted.limit === limit);
  }

  /** Forgets one of them, so that nothing is given back twice. */
  settle(context: HttpContext, counted: CountedRequest): void {
    this.#counted.set(
      context,
      this.of(context).filter((one) => one !== counted),
    );
  }
}

/** Reports whether two attempts are at the same account, and the same subject; `false` if either has none. */
export function isSameAccount(one: ThrottleKeys, other: ThrottleKeys): boolean {
  const [a, b] = [one, other].map((keys) => throttleKey(["account"], { ...keys, address: null }));
  return a !== null && a === b;
}

/** More than any count: what is left of it is nothing. */
const ALL = 1_000_000_000;

/**
 * Takes attempts back, in one round trip if the store can, except those whose window has ended: the next one has other
 * attempts.
 *
 * @param some the attempts
 * @param cost how many attempts each counted for
 * @param isForgotten whether all attempts under an attempt's key are taken back
 */
export async function takeBack(
  store: ThrottleStore,
  some: readonly CountedAttempt[],
  cost = 1,
  isForgotten: (attempt: CountedAttempt) => boolean = () => false,
): Promise<void> {
  const open = some.filter(({ endsAt }) => now() < endsAt);
  const changes = open.map((attempt) => {
    const { bucket, key } = attempt;
    return { bucket, key, cost: isForgotten(attempt) ? ALL : cost };
  });
  if (open.length > 1 && store.takeBackTogether !== undefined) return store.takeBackTogether(changes);
  await allFinished(
    open.map(async (attempt, index) => {
      const { counter, key } = attempt;
      return isForgotten(attempt) ? counter.delete(key) : counter.takeBack(key, changes[index]!.cost);
    }),
  );
}

/** Waits for all operations, even if one fails, so that none is left running after the response. */
export async function allFinished<T>(operations: readonly Promise<T>[]): Promise<T[]> {
  const done: T[] = [];
  for (const result of await Promise.allSettled(operations)) {
    if (result.status === "rejected") throw result.reason;
    done.push(result.value);
  }
  return done;
}
