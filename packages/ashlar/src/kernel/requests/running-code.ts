import { AsyncLocalStorage } from "node:async_hooks";
import type { EnvironmentVariables } from "../../support/index.ts";
import type { Container } from "../container.ts";
import type { Logger } from "../logger.ts";
import { underSameOrigin } from "./requested-origins.ts";

// The application and the request of the running code.

/** An application's configuration by section: `auth` contains the exports of `config/auth.ts`. */
export interface ConfigurationSections {
  /** Returns the section of an optional file. `known` names the exports that the caller reads. */
  optionalSection(name: string, known: readonly string[]): Readonly<Record<string, unknown>>;
}

/** The part of an application that code can use when it looks up the current application. */
export interface RunningApplication {
  readonly container: Container;
  /** The absolute path of its folder. */
  readonly root: string;
  readonly settings: { readonly name: string };
  readonly config: ConfigurationSections;
  /** The variables that `env()` reads in the application's code. */
  readonly variables: EnvironmentVariables;
}

/** The applications of this process, from boot until shutdown is complete. */
const running = new Set<RunningApplication>();
const scopes = new AsyncLocalStorage<RunningApplication>();

/** Records that an application is booting. */
export function beginApplication(application: RunningApplication): void {
  running.add(application);
}

/** Records that an application has shut down. */
export function endApplication(application: RunningApplication): void {
  running.delete(application);
}

/** The applications that run in this process, in boot order. */
export function runningApplications(): readonly RunningApplication[] {
  return [...running];
}

/** Runs a function for an application: {@link currentApplication} returns it in everything the function starts. */
export function runFor<A extends unknown[], T>(
  application: RunningApplication,
  task: (...values: A) => T,
  ...values: A
): T {
  return scopes.run(application, task, ...values);
}

/**
 * Like {@link runFor}, but skips the scope if there is only one application in the process, because it isn't needed.
 */
export function runApart<A extends unknown[], T>(
  application: RunningApplication,
  task: (...values: A) => T,
  ...values: A
): T {
  return running.size > 1 ? scopes.run(application, task, ...values) : task(...values);
}

/**
 * Returns the application that the running code belongs to: the application whose request it handles, or whose
 * providers boot, prune or shut down.
 *
 * @returns `null` outside of all of that, and sometimes if there is only one application in the process
 */
export function currentApplication(): RunningApplication | null {
  return scopes.getStore() ?? requestTraces.getStore()?.application ?? null;
}

/** The state of a response that hasn't been handed over yet, and the work that is waiting for it. */
export interface PendingResponse {
  /** The request's id, as in logs and `request.id`; `null` until its context exists. */
  id: string | null;
  isHandedOver: boolean;
  /** The work to start once the response is out, in order; `null` without any. */
  waiting: (() => void)[] | null;
}

/**
 * The data about a request for the report of an unhandled error. A trace must not keep its request in memory, because
 * everything that a request starts, such as a database connection, references the trace.
 */
export interface RequestTrace extends PendingResponse {
  /** The log of the application that handles it. */
  readonly logger: Logger;
  /** That application; `null` if a handler runs without one. */
  readonly application: RunningApplication | null;
}

/** The trace of the running code's request, also after promises and timers. */
export const requestTraces: AsyncLocalStorage<RequestTrace> = new AsyncLocalStorage<RequestTrace>();

/** The traces of requests that were passed to `fetch` without a server. */
export const fetches: AsyncLocalStorage<PendingResponse> = new AsyncLocalStorage<PendingResponse>();

/**
 * The trace of the request that the running code belongs to, however it arrived; `null` outside of requests. An
 * application that is mounted in another one, or called in a handler, shares the other application's request.
 */
export function currentTrace(): PendingResponse | null {
  return requestTraces.getStore() ?? fetches.getStore() ?? null;
}

/**
 * Runs work outside of any request, even if a request starts it, because other requests may wait for its result too.
 */
export function outsideRequests<T>(work: () => T): T {
  return requestTraces.exit(() => fetches.exit(work));
}

/** The id of the running code's request; `null` outside of requests. */
export function currentRequestId(): string | null {
  return currentTrace()?.id ?? null;
}

/** Makes work belong to the current request, even if it runs later, or is started at the end of another request. */
export function inSameRequest<T>(work: () => T): () => T {
  const own = underSameOrigin(work);
  const served = requestTraces.getStore();
  if (served !== undefined) return () => requestTraces.run(served, own);
  const fetched = fetches.getStore();
  return fetched === undefined ? own : () => fetches.run(fetched, own);
}
