import { AsyncLocalStorage } from "node:async_hooks";
import type { HttpContext, Middleware, Next } from "../../http/index.ts";
import { restoreOnRollback } from "../../support/index.ts";

/** The cookie of a browser whose latest changes may not have reached the replicas yet. It has no meaning but its presence. */
const COOKIE = "read_primary";

/** Where a request reads. */
export interface RequestReads {
  /** Whether it reads from the primary: it, or a request before it, has written. */
  readonly isPinned: boolean;
  /** @param seconds for how long the visitor's further requests read from the primary too */
  pin(seconds: number): void;
}

const requests = new AsyncLocalStorage<RequestReads>();

/** Where the running request reads; `undefined` outside of requests, and without {@link ReadReplicas}. */
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
 * Security: users, logins, limits, sessions, and the links of accounts are always read from the primary. A decision of your
 * own that must not be outdated reads in a transaction.
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
    // The cookie vanishes with a rollback, and the next write has to set it again: that of a repeated transaction, for one.
    restoreOnRollback(this, () => () => {
      this.#seconds = before;
    });
    this.#seconds = seconds;
    this.#context.response.cookie(COOKIE, "1", { maxAgeSeconds: seconds });
  }
}
