import type { HttpContext } from "../http/index.ts";
import { now } from "../support/index.ts";
import { type AttemptKeys, type ThrottleKeys, throttleKey } from "./keys.ts";
import type { ThrottleResult } from "./result.ts";
import type { AttemptCounter } from "./store.ts";

/** What was added to one bucket. */
export interface CountedAttempt {
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

/** Takes one attempt back, unless its window has ended: the next window has other attempts. */
export async function takeBack({ counter, key, endsAt }: CountedAttempt): Promise<void> {
  if (now() < endsAt) await counter.takeBack(key, 1);
}
