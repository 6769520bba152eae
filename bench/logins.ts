// A flood of logins: how many of the hashes the machine can do become logins, and how it affects other requests.
import type { ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { verify } from "@node-rs/argon2";
import { FOLDER, PASSWORD, PASSWORD_HASH } from "./fixtures.ts";
import { type Contestant, cpuTime, type Load, load, median, orderOf, startServer } from "./processes.ts";

/** As many hashes at once as libuv has threads, so that no processor is idle. */
const AT_ONCE = 4;
const CLIENTS = 16;
/** About two thousand logins: before that, most of the servers' code has not been compiled. */
const WARM_UP_SECONDS = 10;
const GOAL = 0.95;
const LATENCY_GOAL = 5;

/** Requests for a plain route: 16 connections, each waiting about 40 ms between requests. */
const PLAIN_CONNECTIONS = 16;
const PLAIN_SCRIPT = "function delay()\n  return math.random(20, 60)\nend\n";

const LOGIN_SCRIPT = `local index = 0
function request()
  index = index % 1000 + 1
  local body = '{"email":"user' .. index .. '@example.com","password":"${PASSWORD}"}'
  return wrk.format("POST", nil, { ["Content-Type"] = "application/json" }, body)
end
`;

/** Operations per second, and the CPU time of each. */
interface Rate {
  readonly perSecond: number;
  readonly cpuMilliseconds: number;
}

/** Response times of a plain route. */
interface Latency {
  readonly atRest: Load;
  readonly inFlood: Load;
}

interface Results {
  readonly rates: Rate[];
  readonly latencies: Latency[];
}

/** Only hashes: the maximum that the processors allow. */
async function bareHashes(seconds: number): Promise<Rate> {
  const end = performance.now() + seconds * 1000;
  const before = cpuTime(process.pid);
  let count = 0;
  const work = async (): Promise<void> => {
    while (performance.now() < end) {
      if (!(await verify(PASSWORD_HASH, PASSWORD))) throw new Error("The hash does not match the password");
      count++;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { perSecond: count / seconds, cpuMilliseconds: (cpuTime(process.pid) - before) / 1000 / count };
}

/** Checks that a server accepts the right password and refuses a wrong one: a server that doesn't hash would win. */
async function requireLogin({ name, port }: Contestant): Promise<void> {
  const answers = [PASSWORD, `${PASSWORD}!`].map(async (password) => {
    const body = JSON.stringify({ email: "user1@example.com", password });
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(`http://127.0.0.1:${port}/login`, { method: "POST", headers, body });
    return response.text();
  });
  const said = (await Promise.all(answers)).join(" ");
  if (said !== '{"ok":true} {"ok":false}')
    throw new Error(`${name} responds to a right and a wrong password with ${said}`);
}

/** Server and load share the processors here: hashing takes all of them. */
function logIn(port: number, seconds: number): Promise<Load> {
  const options = { onAllProcessors: true, connections: CLIENTS };
  return load(`http://127.0.0.1:${port}/login`, join(FOLDER, "login.lua"), seconds, options);
}

function plainRoute(port: number, seconds: number): Promise<Load> {
  const options = { onAllProcessors: true, connections: PLAIN_CONNECTIONS };
  return load(`http://127.0.0.1:${port}/json`, join(FOLDER, "plain.lua"), seconds, options);
}

async function measureRate(port: number, pid: number, seconds: number): Promise<Rate> {
  const before = cpuTime(pid);
  const { requests, seconds: took } = await logIn(port, seconds);
  return { perSecond: requests / took, cpuMilliseconds: (cpuTime(pid) - before) / 1000 / requests };
}

async function measureLatency(port: number, seconds: number): Promise<Latency> {
  const atRest = await plainRoute(port, seconds);
  const [inFlood] = await Promise.all([plainRoute(port, seconds), logIn(port, seconds)]);
  return { atRest, inFlood };
}

/**
 * Measures logins against bare hashes, and a plain route at rest and during the flood, alternately.
 *
 * @param contestants the others are compared to the first
 * @returns the lines of the report, and whether Ashlar reached its goals
 */
export async function measureLogins(
  contestants: readonly Contestant[],
  rounds: number,
  seconds: number,
): Promise<{ readonly lines: readonly string[]; readonly reached: boolean }> {
  await writeFile(join(FOLDER, "login.lua"), LOGIN_SCRIPT);
  await writeFile(join(FOLDER, "plain.lua"), PLAIN_SCRIPT);
  const hashes: Rate[] = [];
  const results = new Map<Contestant, Results>(contestants.map((one) => [one, { rates: [], latencies: [] }]));
  const servers = new Map<Contestant, ChildProcess>();
  try {
    for (const contestant of contestants)
      servers.set(contestant, await startServer(contestant, { onAllProcessors: true }));
    for (const contestant of contestants) {
      await requireLogin(contestant);
      await logIn(contestant.port, WARM_UP_SECONDS);
    }
    for (let round = 0; round < rounds; round++) {
      const order = orderOf(contestants, round);
      // Measured in direct succession, forward and backward, because the machine's speed drifts.
      for (const turn of [order, order.toReversed()]) {
        hashes.push(await bareHashes(seconds));
        for (const contestant of turn) {
          const { pid } = servers.get(contestant)!;
          results.get(contestant)!.rates.push(await measureRate(contestant.port, pid!, seconds));
        }
      }
      for (const contestant of order)
        results.get(contestant)!.latencies.push(await measureLatency(contestant.port, seconds));
    }
  } finally {
    for (const server of servers.values()) server.kill("SIGKILL");
  }
  return report(hashes, results);
}

/**
 * Measures logins with each server, including its hashing threads, on one processor, and the load on another: all work
 * besides hashing then costs logins.
 *
 * @param contestants the others are compared to the first
 * @returns the lines of the report, and whether Ashlar reached its goal
 */
export async function measureLoginsOnOneProcessor(
  contestants: readonly Contestant[],
  rounds: number,
  seconds: number,
): Promise<{ readonly lines: readonly string[]; readonly reached: boolean }> {
  const script = join(FOLDER, "login.lua");
  await writeFile(script, LOGIN_SCRIPT);
  const results = new Map<Contestant, Rate[]>(contestants.map((one) => [one, []]));
  const servers = new Map<Contestant, ChildProcess>();
  const measure = async (contestant: Contestant, duration: number): Promise<Rate> => {
    const { pid } = servers.get(contestant)!;
    const before = cpuTime(pid!);
    const url = `http://127.0.0.1:${contestant.port}/login`;
    const { requests, seconds: took } = await load(url, script, duration, { connections: CLIENTS });
    return { perSecond: requests / took, cpuMilliseconds: (cpuTime(pid!) - before) / 1000 / requests };
  };
  try {
    for (const contestant of contestants) servers.set(contestant, await startServer(contestant));
    for (const contestant of contestants) {
      await requireLogin(contestant);
      await measure(contestant, WARM_UP_SECONDS);
    }
    for (let round = 0; round < rounds; round++) {
      const order = orderOf(contestants, round);
      for (const contestant of [...order, ...order.toReversed()]) {
        results.get(contestant)!.push(await measure(contestant, seconds));
      }
    }
  } finally {
    for (const server of servers.values()) server.kill("SIGKILL");
  }
  const { rows, reached } = ratioRows(results);
  const lines = [
    "## Logins, with each server on one processor",
    "",
    "node:http and Fastify look up the user and verify the password; Ashlar performs a complete login.",
    "",
    "| server | ratio | lowest – highest | ratio by CPU time | logins/s | CPU ms/login |",
    "|---|--:|--:|--:|--:|--:|",
    ...rows.map((cells) => `| ${cells.join(" | ")} |`),
    "",
    `Goal for Ashlar: a ratio of at least ${GOAL}${reached ? "." : "; not reached in this run."}`,
    "",
  ];
  return { lines, reached };
}

function report(
  hashes: readonly Rate[],
  results: ReadonlyMap<Contestant, Results>,
): { readonly lines: readonly string[]; readonly reached: boolean } {
  const rates = rateRows(hashes, results);
  const latencies = latencyRows(results);
  const lines = [
    "## A flood of logins",
    "",
    "Here node:http looks up the user and verifies the password, without the rest of a login: its rate is the maximum that",
    "hashing allows over HTTP. Server and load share the processors, because hashing takes all of them.",
    "",
    "| server | ratio | lowest – highest | ratio by CPU time | to bare hashes | logins/s | CPU ms/login |",
    "|---|--:|--:|--:|--:|--:|--:|",
    ...rates.rows,
    "",
    `Goal for Ashlar: a ratio of at least ${GOAL}${rates.reached ? "." : "; not reached in this run."}`,
    "",
    "A plain route at the same time, at about 400 requests per second:",
    "",
    "| server | median at rest | in the flood | p99 at rest | in the flood | ratio |",
    "|---|--:|--:|--:|--:|--:|",
    ...latencies.rows,
    "",
    `Goal for Ashlar: a p99 in the flood of at most ${LATENCY_GOAL} times that at rest${latencies.reached ? "." : "; not reached in this run."}`,
    "",
  ];
  return { lines, reached: rates.reached && latencies.reached };
}

interface Rows {
  readonly rows: readonly string[];
  readonly reached: boolean;
}

function rateRows(hashes: readonly Rate[], results: ReadonlyMap<Contestant, Results>): Rows {
  const rates = new Map([...results].map(([contestant, { rates }]) => [contestant, rates]));
  const { rows, reached } = ratioRows(rates);
  const toHashes = [...rates.values()].map((one) => {
    return median(one.map((rate, round) => rate.perSecond / hashes[round]!.perSecond)).toFixed(2);
  });
  const loop = `| a loop of hashes, ${AT_ONCE} at once | | | | 1.00 | ${absolute(hashes).join(" | ")} |`;
  const lines = rows.map(
    (cells, index) => `| ${[...cells.slice(0, 4), toHashes[index]!, ...cells.slice(4)].join(" | ")} |`,
  );
  return { rows: [loop, ...lines], reached };
}

/** For each server: its name, the ratio of its rate to the first's, the range of ratios, the ratio by CPU time, its rate. */
function ratioRows(results: ReadonlyMap<Contestant, readonly Rate[]>): {
  readonly rows: readonly string[][];
  readonly reached: boolean;
} {
  const reference = [...results.values()][0]!;
  let reached = true;
  const rows = [...results].map(([{ name }, rates]) => {
    const ratios = rates.map((one, round) => one.perSecond / reference[round]!.perSecond);
    const cpuRatio = median(rates.map((one, round) => reference[round]!.cpuMilliseconds / one.cpuMilliseconds));
    if (name === "Ashlar") reached = median(ratios) >= GOAL;
    const range = `${Math.min(...ratios).toFixed(2)} – ${Math.max(...ratios).toFixed(2)}`;
    return [name, `**${median(ratios).toFixed(2)}**`, range, cpuRatio.toFixed(2), ...absolute(rates)];
  });
  return { rows, reached };
}

function absolute(rates: readonly Rate[]): string[] {
  return [
    median(rates.map((one) => one.perSecond)).toFixed(0),
    median(rates.map((one) => one.cpuMilliseconds)).toFixed(2),
  ];
}

function latencyRows(results: ReadonlyMap<Contestant, Results>): Rows {
  let reached = true;
  const rows = [...results].map(([{ name }, { latencies }]) => {
    const of = (read: (one: Latency) => number): number => median(latencies.map(read));
    const times = of(({ inFlood }) => inFlood.p99) / of(({ atRest }) => atRest.p99);
    if (name === "Ashlar") reached = times <= LATENCY_GOAL;
    const cells = [
      of(({ atRest }) => atRest.p50),
      of(({ inFlood }) => inFlood.p50),
      of(({ atRest }) => atRest.p99),
      of(({ inFlood }) => inFlood.p99),
    ].map((milliseconds) => `${milliseconds.toFixed(2)} ms`);
    return `| ${name} | ${[...cells, `**${times.toFixed(1)}**`].join(" | ")} |`;
  });
  return { rows, reached };
}
