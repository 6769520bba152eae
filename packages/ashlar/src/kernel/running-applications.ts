import { AsyncLocalStorage } from "node:async_hooks";
import type { EnvironmentVariables } from "../support/index.ts";
import type { Container } from "./container.ts";
import { requestTraces } from "./request-trace.ts";

/** What an application is configured with, by sections: `auth` is what `config/auth.ts` exports. */
export interface ConfigurationSections {
  has(section: string): boolean;
  section(name: string): Readonly<Record<string, unknown>>;
}

/** An application, as code finds it that has to know which one it runs for. */
export interface RunningApplication {
  readonly container: Container;
  /** The absolute path of its folder. */
  readonly root: string;
  readonly settings: { readonly name: string };
  readonly config: ConfigurationSections;
  /** What `env()` reads in its code. */
  readonly variables: EnvironmentVariables;
}

/** The applications of this process, from their boot to the end of their shutdown. */
const running = new Set<RunningApplication>();
const scopes = new AsyncLocalStorage<RunningApplication>();

/** Notes that an application boots. */
export function beginApplication(application: RunningApplication): void {
  running.add(application);
}

/** Notes that an application has shut down. */
export function endApplication(application: RunningApplication): void {
  running.delete(application);
}

/** The applications that run in this process, in the order in which they booted. */
export function runningApplications(): readonly RunningApplication[] {
  return [...running];
}

/** Runs a function for an application: {@link currentApplication} is that one, in all that the function begins. */
export function runFor<A extends unknown[], T>(
  application: RunningApplication,
  task: (...values: A) => T,
  ...values: A
): T {
  return scopes.run(application, task, ...values);
}

/** As {@link runFor}, if there are others to be kept apart from: a single application does without. */
export function runApart<A extends unknown[], T>(
  application: RunningApplication,
  task: (...values: A) => T,
  ...values: A
): T {
  return running.size > 1 ? scopes.run(application, task, ...values) : task(...values);
}

/**
 * The application that the running code belongs to: the one whose request it answers, or whose providers boot, prune or
 * shut down.
 *
 * @returns `null` outside of all of that, and possibly while it is the only one in the process
 */
export function currentApplication(): RunningApplication | null {
  return scopes.getStore() ?? requestTraces.getStore()?.application ?? null;
}
