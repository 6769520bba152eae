import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** A Node that tests run programs with. */
export interface Runtime {
  /** Its version, such as `24.21.0`. */
  readonly version: string;
  readonly path: string;
}

const WORKSPACES = join(import.meta.dirname, "../../../../runtimes");

function runtime(path: string): Runtime {
  return { version: execFileSync(path, ["--version"], { encoding: "utf8" }).trim().slice(1), path };
}

/** The newest release of each supported line of Node: the workspace's own, and the one in `runtimes/node-24`. */
export const RUNTIMES: readonly Runtime[] = [
  runtime(process.execPath),
  runtime(join(WORKSPACES, "node-24/node_modules/node/bin/node")),
];

/** The oldest Node that is supported. */
export const OLDEST_RUNTIME: Runtime = runtime(join(WORKSPACES, "node-24.7/node_modules/node/bin/node"));

const MODULES = join(import.meta.dirname, "../../../../node_modules");

/** Bun and Deno, in the versions that the tests run on. */
export const BUN: string = join(MODULES, "bun/bin/bun.exe");
export const DENO: string = join(MODULES, "deno/deno");
