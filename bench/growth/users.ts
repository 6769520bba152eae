// The cost of a request as the number of users and logins grows: the server's and the database's CPU time per request.
import type { ChildProcess } from "node:child_process";
import { type Contestant, cpuTime, load, startServer } from "../processes.ts";
import { bytesOf, createDatabase, databaseCpuTime, dropDatabase, type Engine, type Grown, opened } from "./engines.ts";
import { measureMails } from "./mails.ts";
import { plansOf } from "./plans.ts";
import { type PlannedRequest, writeRequests } from "./requests.ts";
import { fill, migrate, type Visitor } from "./rows.ts";

/** The other sizes are compared with the first. */
export const SIZES: number[] = [1000, 100_000, 1_000_000];
/** How much more a request may cost on a larger database. */
export const TOLERANCE = 0.2;
const FIRST_PORT = 4110;
const WARM_UP_SECONDS = 2;

/** The requests whose cost is measured. */
export const OPERATIONS = ["session", "token", "lookup"] as const;
export type Operation = (typeof OPERATIONS)[number];

/** A server with its database, and the scripts that put load on it. */
interface Served {
  readonly grown: Grown;
  readonly url: string;
  readonly server: ChildProcess;
  readonly scripts: Readonly<Record<Operation, string>>;
  readonly visitors: readonly Visitor[];
}

/** The cost of a request, in microseconds of CPU time. */
export interface Cost {
  readonly server: number;
  readonly database: number;
}

/** The costs of one kind of request at one size, one for each round. */
export interface Series {
  readonly operation: Operation;
  readonly size: number;
  readonly costs: readonly Cost[];
}

/** What was found out about one engine. */
export interface EngineGrowth {
  readonly engine: Engine;
  readonly series: readonly Series[];
  /** The plan of each statement of the requests, on the largest database. */
  readonly plans: readonly { readonly statement: string; readonly plan: string }[];
  /** The cost of a mail from its request to its delivery; on the smallest database, because the outbox is always small. */
  readonly mail: Cost;
  /** The disk space of a user with a login, including indexes, in bytes. */
  readonly bytesPerUser: number;
}

/** The cookies in a visitor's browser after a page: the login's, and those of the session that begins with the page. */
async function cookiesOf({ loginToken }: Visitor, url: string): Promise<string> {
  const token = `token=${loginToken}`;
  const response = await fetch(`${url}/login`, { headers: { cookie: token } });
  await response.text();
  const others = response.headers.getSetCookie().map((line) => line.split(";")[0]!);
  return [token, ...others].join("; ");
}

async function serve(grown: Grown, visitors: readonly Visitor[], port: number): Promise<Served> {
  const contestant: Contestant = {
    name: `${grown.engine.name} with ${grown.size} users`,
    script: "growth.ts",
    port,
    environment: { CONNECTION: JSON.stringify(grown.settings) },
  };
  const server = await startServer(contestant);
  try {
    const url = `http://127.0.0.1:${port}`;
    const cookies: string[] = [];
    for (const visitor of visitors) cookies.push(await cookiesOf(visitor, url));
    const requests: Readonly<Record<Operation, readonly PlannedRequest[]>> = {
      session: cookies.map((value) => ({ path: "/home", header: ["Cookie", value] })),
      token: visitors.map(({ apiToken }) => ({ path: "/account", header: ["Authorization", `Bearer ${apiToken}`] })),
      lookup: visitors.map(({ email }) => ({ path: `/lookup?email=${encodeURIComponent(email)}` })),
    };
    const scripts: Partial<Record<Operation, string>> = {};
    for (const operation of OPERATIONS) {
      await requireAnswers(url, operation, requests[operation]);
      scripts[operation] = await writeRequests(`${operation}-${grown.size}`, requests[operation]);
    }
    return { grown, url, server, visitors, scripts: scripts as Record<Operation, string> };
  } catch (error) {
    server.kill("SIGKILL");
    throw error;
  }
}

const ANSWERS: Readonly<Record<Operation, RegExp>> = {
  session: /You are logged in as user\d+@example\.com/,
  token: /^\{"name":"User \d+"\}$/,
  lookup: /^\{"found":true\}$/,
};

/** A refusal is fast, and would look like a cheap request. */
async function requireAnswers(url: string, operation: Operation, requests: readonly PlannedRequest[]): Promise<void> {
  for (const { path, header } of [requests[0]!, requests.at(-1)!]) {
    const response = await fetch(url + path, {
      headers: header === undefined ? {} : [[...header]],
      redirect: "manual",
    });
    const text = (await response.text()).trim();
    if (!ANSWERS[operation].test(text)) throw new Error(`${url}${path} responds with ${response.status}: ${text}`);
  }
}

async function measure({ grown, url, server, scripts }: Served, operation: Operation, seconds: number): Promise<Cost> {
  const [before, inDatabase] = [cpuTime(server.pid!), await databaseCpuTime(grown)];
  const { requests } = await load(url, scripts[operation], seconds);
  return {
    server: (cpuTime(server.pid!) - before) / requests,
    database: ((await databaseCpuTime(grown)) - inDatabase) / requests,
  };
}

/** Measures an engine. Its databases exist only for as long as that takes. */
export async function measureUsers(engine: Engine, rounds: number, seconds: number): Promise<EngineGrowth> {
  const served: Served[] = [];
  try {
    for (const [index, size] of SIZES.entries()) {
      const begin = performance.now();
      const grown = await createDatabase(engine, size);
      await migrate(grown);
      const visitors = await fill(grown);
      console.log(`${engine.name}: ${size} users in ${((performance.now() - begin) / 1000).toFixed(1)} s`);
      served.push(await serve(grown, visitors, FIRST_PORT + index));
    }
    const series: Series[] = [];
    for (const operation of OPERATIONS) {
      for (const one of served) await load(one.url, one.scripts[operation], WARM_UP_SECONDS);
      const costs = new Map<Served, Cost[]>(served.map((one) => [one, []]));
      for (let round = 0; round < rounds; round++) {
        for (const [index] of served.entries()) {
          const one = served[(index + round) % served.length]!;
          costs.get(one)!.push(await measure(one, operation, seconds));
        }
      }
      for (const [{ grown }, found] of costs) series.push({ operation, size: grown.size, costs: found });
    }
    const { grown, url, server } = served[0]!;
    const mail = await opened(grown, (database) => measureMails({ grown, database, url, pid: server.pid! }));
    const largest = served.at(-1)!;
    const plans = await plansOf(largest.grown, largest.visitors[0]!);
    return { engine, series, plans, mail, bytesPerUser: (await bytesOf(largest.grown)) / largest.grown.size };
  } finally {
    for (const { server } of served) server.kill("SIGKILL");
    for (const size of SIZES) await dropDatabase(engine, size);
  }
}

/** The lowest cost of all rounds, which includes the least of the machine's other work. */
export function lowestCost(costs: readonly Cost[], side: keyof Cost): number {
  return Math.min(...costs.map((cost) => cost[side]));
}

function onSmallest({ series }: EngineGrowth, operation: Operation): readonly Cost[] {
  return series.find((one) => one.operation === operation && one.size === SIZES[0])!.costs;
}

/** The lowest cost, relative to that on the smallest database. */
export function ratioOf(growth: EngineGrowth, { operation, costs }: Series, side: keyof Cost): number {
  return lowestCost(costs, side) / lowestCost(onSmallest(growth, operation), side);
}

/** The costs of each round, relative to those of the smallest database in the same round. */
export function ratios(growth: EngineGrowth, { operation, costs }: Series, side: keyof Cost): readonly number[] {
  const smallest = onSmallest(growth, operation);
  return costs.map((cost, round) => cost[side] / smallest[round]![side]);
}
