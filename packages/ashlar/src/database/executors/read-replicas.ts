import { AsyncLocalStorage } from "node:async_hooks";
import type { HttpContext, Middleware, Next } from "../../http/index.ts";
import { restoreOnRollback } from "../../support/index.ts";

/** The cookie of a browser whose latest changes may not have reached the replicas yet. Only its presence matters. */
const COOKIE = "read_primary";

/** A request's choice between primary and replicas. */
export interface RequestReads {
  /** Whether it reads from the primary, because it or a previous request has written. */
  readonly isPinned: boolean;
  /** @param seconds how long the visitor's later requests read from the primary as well */
  pin(seconds: number): void;
}

const requests = new AsyncLocalStorage<RequestReads>();

/** The choice of the running request; `undefined` outside of requests, and without {@link ReadReplicas}. */
export function currentReads(): RequestReads | undefined {
  return requests.getStore();
}

/**
 * Lets requests read from the replicas of their databases: SELECTs outside of transactions. A request that has written reads
 * from the primary from then on, and so does the same browser for a while (`ownWritesSeconds`).
 *
 * ```ts
 * // app/kernel.ts
 * export class Kernel extends HttpKernel {
 *   override httpMiddleware = [ReadReplicas];
 * }
 * ```
 *
 * Security: users, logins, limits, sessions, and the links of accounts are always read from the primary. For your own
 * decisions that must not use outdated data, read in a transaction.
 */
export class ReadReplicas implements Middleware {
  beforeBody(): boolean {
    return true;
  }

  handle(context: HttpContext, next: Next): unknown {
    return requests.run(new BrowserReads(context), next);
  }
}

class BrowserReads implements RequestReads {
  isPinned: boolean;
  readonly #context: HttpContext;
  #seconds = 0;

  constructor(context: HttpContext) {
    this.#context = context;
    this.isPinned = context.request.cookie(COOKIE) !== null;
  }

  pin(seconds: number): void {
    this.isPinned = true;
    const before = this.#seconds;
    if (seconds <= before) return;
    // A rollback drops the cookie, and the next write has to set it again, for example when the transaction is
    // repeated.
    restoreOnRollback(this, () => () => {
      this.#seconds = before;
    });
    this.#seconds = seconds;
    this.#context.response.cookie(COOKIE, "1", { maxAgeSeconds: seconds });
  }
}
