import { AsyncLocalStorage } from "node:async_hooks";
import type { EnvironmentVariables } from "../../support/index.ts";
import type { Container } from "../container.ts";
import { requestTraces } from "./request-trace.ts";

/** An application's configuration by section: `auth` is what `config/auth.ts` exports. */
export interface ConfigurationSections {
  /** Of a file that need not exist; `known` are the exports that are read. */
  optionalSection(name: string, known: readonly string[]): Readonly<Record<string, unknown>>;
}

/** The part of an application that code needs when it has to know which one it runs for. */
export interface RunningApplication {
  readonly container: Container;
  /** The absolute path of its folder. */
  readonly root: string;
  readonly settings: { readonly name: string };
  readonly config: ConfigurationSections;
  /** What `env()` reads in its code. */
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

/** Like {@link runFor}, but only if there are several applications: a single one does not need it. */
export function runApart<A extends unknown[], T>(
  application: RunningApplication,
  task: (...values: A) => T,
  ...values: A
): T {
  return running.size > 1 ? scopes.run(application, task, ...values) : task(...values);
}

/**
 * Returns the application that the running code belongs to: the one whose request it handles, or whose providers boot,
 * prune or shut down.
 *
 * @returns `null` outside of all of that, and possibly while only one application runs in the process
 */
export function currentApplication(): RunningApplication | null {
  return scopes.getStore() ?? requestTraces.getStore()?.application ?? null;
}
