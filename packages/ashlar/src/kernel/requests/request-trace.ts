import { AsyncLocalStorage } from "node:async_hooks";
import type { Logger } from "../logger.ts";
import type { RunningApplication } from "./running-applications.ts";

/** Whether a request's response has been handed over, and what waits for that. */
export interface PendingResponse {
  /** Identifies the request in logs; `null` until its context exists. Also the value of `request.id`. */
  id: string | null;
  isHandedOver: boolean;
  /** Started once the response is out, in order; `null` if there is nothing. */
  waiting: (() => void)[] | null;
}

/**
 * What remains known about a request when an unhandled error comes up. It keeps nothing of the request alive: whatever
 * the request started, such as a database connection, keeps its trace for as long as it lives.
 */
export interface RequestTrace extends PendingResponse {
  /** The log of the application that handles it. */
  readonly logger: Logger;
  /** That application; `null` if a handler runs without one. */
  readonly application: RunningApplication | null;
}

/** The trace of the request that the running code belongs to, however many promises and timers later. */
export const requestTraces: AsyncLocalStorage<RequestTrace> = new AsyncLocalStorage<RequestTrace>();
