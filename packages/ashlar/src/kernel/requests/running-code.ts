import { AsyncLocalStorage } from "node:async_hooks";
import type { EnvironmentVariables } from "../../support/index.ts";
import type { Container } from "../container.ts";
import type { Logger } from "../logger.ts";
import { underSameOrigin } from "./requested-origins.ts";

// The application and the request that the running code belongs to.

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

/** Like {@link runFor}, but a process with a single application skips the scope, because it doesn't need one. */
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
 * @returns `null` outside of all of that, and possibly while only one application runs in the process
 */
export function currentApplication(): RunningApplication | null {
  return scopes.getStore() ?? requestTraces.getStore()?.application ?? null;
}

/** The state of a response that hasn't been handed over yet, and the work that waits for it. */
export interface PendingResponse {
  /** The request's id, as in logs and `request.id`; `null` until its context exists. */
  id: string | null;
  isHandedOver: boolean;
  /** The work to start once the response is out, in order; `null` if nothing waits. */
  waiting: (() => void)[] | null;
}

/**
 * What is still known about a request when an unhandled error occurs. A trace must not keep its request alive, because
 * everything that a request starts, such as a database connection, holds on to the trace.
 */
export interface RequestTrace extends PendingResponse {
  /** The log of the application that handles it. */
  readonly logger: Logger;
  /** That application; `null` if a handler runs without one. */
  readonly application: RunningApplication | null;
}

/** The trace of the request that the running code belongs to, however many promises and timers later. */
export const requestTraces: AsyncLocalStorage<RequestTrace> = new AsyncLocalStorage<RequestTrace>();

/** The traces of requests that came to `fetch` without a server. */
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

/** The id of the request that the running code belongs to; `null` outside of requests. */
export function currentRequestId(): string | null {
  return currentTrace()?.id ?? null;
}

/** Makes work that runs later belong to the current request, even if the end of another request starts the work. */
export function inSameRequest<T>(work: () => T): () => T {
  const own = underSameOrigin(work);
  const served = requestTraces.getStore();
  if (served !== undefined) return () => requestTraces.run(served, own);
  const fetched = fetches.getStore();
  return fetched === undefined ? own : () => fetches.run(fetched, own);
}
