import { AsyncLocalStorage } from "node:async_hooks";
import type { Application } from "./application.ts";
import { requestTraces } from "./request-trace.ts";

/** The applications of this process, from their boot to the end of their shutdown. */
const running = new Set<Application>();
const scopes = new AsyncLocalStorage<Application>();

/** Notes that an application boots. */
export function beginApplication(application: Application): void {
  running.add(application);
}

/** Notes that an application has shut down. */
export function endApplication(application: Application): void {
  running.delete(application);
}

/** The applications that run in this process, in the order in which they booted. */
export function runningApplications(): readonly Application[] {
  return [...running];
}

/** Runs a function for an application: {@link currentApplication} is that one, in all that the function begins. */
export function runFor<A extends unknown[], T>(application: Application, task: (...values: A) => T, ...values: A): T {
  return scopes.run(application, task, ...values);
}

/** As {@link runFor}, if there are others to be kept apart from: a single application does without. */
export function runApart<A extends unknown[], T>(application: Application, task: (...values: A) => T, ...values: A): T {
  return running.size > 1 ? scopes.run(application, task, ...values) : task(...values);
}

/**
 * The application that the running code belongs to: the one whose request it answers, or whose providers boot, prune or
 * shut down.
 *
 * @returns `null` outside of all of that, and possibly while it is the only one in the process
 * @internal
 */
export function currentApplication(): Application | null {
  return scopes.getStore() ?? requestTraces.getStore()?.application ?? null;
}
