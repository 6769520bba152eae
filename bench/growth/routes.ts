// The cost of an application as its number of routes grows: its boot, its memory, and requests for the first route, the
// last route and no route.
import type { ChildProcess } from "node:child_process";
import { cpuTime, load, residentMemory, startServer } from "../processes.ts";
import { writeRequests } from "./requests.ts";

export const ROUTES = [10, 100, 1000, 10_000] as const;
const FIRST_PORT = 4120;
const STARTS = 3;
const WARM_UP_SECONDS = 2;

/** The requests, by the heading of their column. */
export const TARGETS = ["first", "last", "none"] as const;
export type Target = (typeof TARGETS)[number];

/** The measurements with one number of routes. */
export interface RouteGrowth {
  readonly routes: number;
  /** The duration of the boot, in milliseconds, and the memory after it, in megabytes: the lowest of several starts. */
  readonly bootMs: number;
  readonly memoryMb: number;
  /** The CPU time of a request, in microseconds, for each round. */
  readonly costs: Readonly<Record<Target, readonly number[]>>;
}

const pathOf = (target: Target, routes: number): string => {
  if (target === "none") return "/shop/nowhere/7";
  return `/shop/section-${target === "first" ? 0 : routes - 1}/7`;
};

async function start(
  routes: number,
  port: number,
): Promise<{ server: ChildProcess; bootMs: number; memoryMb: number }> {
  const environment = { ROUTES: String(routes) };
  const server = await startServer({ name: `${routes} routes`, script: "routes.ts", port, environment });
  const response = await fetch(`http://127.0.0.1:${port}/booted`);
  const { ms } = (await response.json()) as { readonly ms: number };
  return { server, bootMs: ms, memoryMb: residentMemory(server.pid!) };
}

/** Measures applications that differ only in how many routes they have; they take turns. */
export async function measureRoutes(rounds: number, seconds: number): Promise<readonly RouteGrowth[]> {
  const servers = new Map<number, ChildProcess>();
  const boots = new Map<number, { readonly bootMs: number; readonly memoryMb: number }[]>();
  const costs = new Map(
    ROUTES.map((routes) => [routes as number, { first: [], last: [], none: [] } as Record<Target, number[]>]),
  );
  const url = (routes: number): string => `http://127.0.0.1:${FIRST_PORT + ROUTES.indexOf(routes as never)}`;
  try {
    for (let again = 0; again < STARTS; again++) {
      for (const [index, routes] of ROUTES.entries()) {
        servers.get(routes)?.kill("SIGKILL");
        const { server, ...boot } = await start(routes, FIRST_PORT + index);
        servers.set(routes, server);
        boots.set(routes, [...(boots.get(routes) ?? []), boot]);
      }
    }
    for (const target of TARGETS) {
      const scripts = new Map<number, string>();
      for (const routes of ROUTES) {
        const path = pathOf(target, routes);
        const { status } = await fetch(url(routes) + path);
        if (status !== (target === "none" ? 404 : 200)) throw new Error(`${path} is answered with ${status}`);
        scripts.set(routes, await writeRequests(`routes-${target}-${routes}`, [{ path }]));
      }
      const expectsFailures = target === "none";
      const run = (routes: number, time: number) => load(url(routes), scripts.get(routes)!, time, { expectsFailures });
      for (const routes of ROUTES) await run(routes, WARM_UP_SECONDS);
      for (let round = 0; round < rounds; round++) {
        for (const [index] of ROUTES.entries()) {
          const routes = ROUTES[(index + round) % ROUTES.length]!;
          const { pid } = servers.get(routes)!;
          const before = cpuTime(pid!);
          const { requests } = await run(routes, seconds);
          costs.get(routes)![target].push((cpuTime(pid!) - before) / requests);
        }
      }
    }
  } finally {
    for (const server of servers.values()) server.kill("SIGKILL");
  }
  return ROUTES.map((routes) => ({
    routes,
    bootMs: Math.min(...boots.get(routes)!.map(({ bootMs }) => bootMs)),
    memoryMb: Math.min(...boots.get(routes)!.map(({ memoryMb }) => memoryMb)),
    costs: costs.get(routes)!,
  }));
}

/** The lowest cost of a request, relative to its cost with the fewest routes. */
export function routeRatio(all: readonly RouteGrowth[], one: RouteGrowth, target: Target): number {
  return Math.min(...one.costs[target]) / Math.min(...all[0]!.costs[target]);
}
