import { AsyncLocalStorage } from "node:async_hooks";
import type { Logger } from "./logger.ts";
import type { RunningApplication } from "./running-applications.ts";

/** Whether the answer to a request has been handed over, and what waits for that. */
export interface PendingAnswer {
  isGiven: boolean;
  /** Begun once the answer is out, in order; `null` as long as there is nothing. */
  waiting: (() => void)[] | null;
}

/**
 * What can still be said of a request when an error comes to light that nothing handled. It holds on to nothing of the
 * request: whatever was begun by it, such as a connection to a database, keeps its trace for as long as it lives.
 */
export interface RequestTrace extends PendingAnswer {
  /** Identifies the request in logs; `null` until it is asked for. Also what `request.id` gives. */
  id: string | null;
  /** The log of the application that answers it. */
  readonly logger: Logger;
  /** That application; `null` where a handler stands alone. */
  readonly application: RunningApplication | null;
}

/** The trace of the request that the running code belongs to, however many promises and timers later. */
export const requestTraces: AsyncLocalStorage<RequestTrace> = new AsyncLocalStorage<RequestTrace>();
