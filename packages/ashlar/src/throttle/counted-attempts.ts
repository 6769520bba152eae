import type { HttpContext } from "../http/index.ts";
import { now } from "../support/index.ts";
import { type AttemptKeys, type ThrottleKeys, throttleKey } from "./keys.ts";
import type { ThrottleResult } from "./result.ts";
import type { AttemptCounter } from "./store.ts";

/** What was added to one bucket. */
export interface CountedAttempt {
  readonly counter: AttemptCounter;
  readonly key: string;
  /** Whether the bucket counts by account, if by address as well or not. */
  readonly isOfAccount: boolean;
  /** When the window ends that it was added to, in milliseconds since the epoch. */
  readonly endsAt: number;
}

/** What a request was counted as under one limit. */
export interface CountedRequest {
  readonly limit: string;
  readonly keys: AttemptKeys;
  readonly result: ThrottleResult;
  readonly attempts: readonly CountedAttempt[];
}

/** Remembers, for each request, what it was counted as, so that a success can give that back, and nothing else. */
export class CountedRequests {
  readonly #counted = new WeakMap<HttpContext, CountedRequest[]>();

  add(context: HttpContext, counted: CountedRequest): void {
    const before = this.#counted.get(context);
    if (before === undefined) this.#counted.set(context, [counted]);
    else before.push(counted);
  }

  /** What a request was counted as, in order. */
  of(context: HttpContext): readonly CountedRequest[] {
    return this.#counted.get(context) ?? [];
  }

  /** What a request was counted as under a limit. */
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

/** Whether two attempts are at the same account; `false` if either names none. */
export function isSameAccount(one: ThrottleKeys, other: ThrottleKeys): boolean {
  const [a, b] = [one, other].map(({ account = null, realm = null }) => throttleKey(["account"], { account, realm }));
  return a !== null && a === b;
}

/** Takes one attempt back, unless the window that it was added to has ended: the next one is other attempts'. */
export async function takeBack({ counter, key, endsAt }: CountedAttempt): Promise<void> {
  if (now() < endsAt) await counter.takeBack(key, 1);
}
