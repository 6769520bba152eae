// Where a request's CPU time and memory go, by folder: `npm run bench:budget`. Writes a table for each scenario
// into docs/operations.md. `-- --node PATH` adds another version of Node.js, and may be repeated.
import { type ChildProcess, execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { withResults } from "../scripts/cluster/results.ts";
import type { Row } from "../scripts/cluster/scenario.ts";
import { allocated, type Profile, type Shares, timeShares } from "./budget/shares.ts";
import { FOLDER, makeFixtures } from "./fixtures.ts";
import { type Contestant, cpuTime, has, load, median, startServer } from "./processes.ts";
import { makeScenarios } from "./scenarios.ts";
import { type Scenario, writeLoadScript } from "./throughput.ts";

const PAGE = join(import.meta.dirname, "../docs/operations.md");
const PROFILER = join(import.meta.dirname, "budget/profiler.mjs");
const PROFILE = join(FOLDER, "budget.json");
/** The scenarios of a plain answer, a token, a token with its user, and a page. */
const SCENARIOS = ["1", "3", "4", "5"];
const WARM_UP_SECONDS = 8;
const ROUNDS = 5;
const SECONDS = 2;
/** Parts that need less of the time than this share one row. */
const SMALL_SHARE = 0.01;

/** The cost of a request. */
interface Budget {
  readonly version: string;
  readonly cpuMicroseconds: number;
  readonly time: Shares;
  /** The bytes that a request allocates, by part. */
  readonly bytes: Shares;
}

if (!has("wrk")) {
  console.error("The benchmark needs wrk, the load generator: apt-get install wrk, or brew install wrk.");
  process.exit(1);
}
const { values } = parseArgs({ options: { node: { type: "string", multiple: true, default: [] } } });
const nodes = [process.execPath, ...values.node];
const scenarios = await makeScenarios(await makeFixtures(), (number) => SCENARIOS.includes(number));
for (const [index, scenario] of scenarios.entries()) {
  const budgets: Budget[] = [];
  for (const node of nodes) budgets.push(await budgetOf(scenario, node));
  const about = {
    name: `budget-${SCENARIOS[index]}`,
    title: `Per request: ${scenario.title}`,
    about:
      "CPU time in µs and allocated bytes. The total was measured without a profiler, and is split up in " +
      "proportion to a profile's samples. What Node.js does on behalf of a part counts as that part's.",
  };
  const versions = { "Node.js": budgets.map(({ version }) => version).join(" and ") };
  const page = await readFile(PAGE, "utf8");
  await writeFile(
    PAGE,
    withResults(page, about, { versions, rows: rowsOf(budgets) }, new Date().toISOString().slice(0, 10)),
  );
}

async function budgetOf(scenario: Scenario, node: string): Promise<Budget> {
  const contestant = scenario.contestants.at(-1)!;
  const script = await writeLoadScript(scenario);
  const url = `http://127.0.0.1:${contestant.port}${scenario.path}`;
  const version = execFileSync(node, ["--version"], { encoding: "utf8" }).trim().slice(1);
  const cpuMicroseconds = await serving(contestant, [node], async ({ pid }) => {
    await load(url, script, WARM_UP_SECONDS);
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const before = cpuTime(pid!);
      const { requests } = await load(url, script, SECONDS);
      rounds.push((cpuTime(pid!) - before) / requests);
    }
    return median(rounds);
  });
  rmSync(PROFILE, { force: true });
  const profiled = { ...contestant, environment: { ...contestant.environment, BUDGET_PROFILE: PROFILE } };
  return await serving(profiled, [node, "--import", PROFILER], async (child) => {
    await load(url, script, WARM_UP_SECONDS);
    child.kill("SIGUSR2");
    await sleep(500);
    const { requests } = await load(url, script, ROUNDS * SECONDS);
    child.kill("SIGUSR2");
    const profile = await written(child);
    const bytes = new Map([...allocated(profile)].map(([part, sum]) => [part, sum / requests]));
    return { version, cpuMicroseconds, time: timeShares(profile), bytes };
  });
}

async function serving<Result>(
  contestant: Contestant,
  command: readonly string[],
  use: (child: ChildProcess) => Promise<Result>,
): Promise<Result> {
  const child = await startServer(contestant, { command });
  try {
    return await use(child);
  } finally {
    child.kill("SIGKILL");
    await once(child, "close");
  }
}

async function written(child: ChildProcess): Promise<Profile> {
  while (child.exitCode === null) {
    if (existsSync(PROFILE)) return JSON.parse(readFileSync(PROFILE, "utf8")) as Profile;
    await sleep(100);
  }
  throw new Error("The server exited while it was being profiled.");
}

/** A row for each part, and a row for their total. */
function rowsOf(budgets: readonly Budget[]): Row[] {
  const isSmall = (part: string) => budgets.every(({ time }) => (time.get(part) ?? 0) < SMALL_SHARE);
  const parts = [...new Set(budgets.flatMap(({ time, bytes }) => [...time.keys(), ...bytes.keys()]))];
  const [first] = budgets as [Budget];
  const large = parts
    .filter((part) => !isSmall(part))
    .sort((a, b) => (first.time.get(b) ?? 0) - (first.time.get(a) ?? 0));
  const small = parts.filter(isSmall);
  const row = (title: string, members: readonly string[]): Row => {
    const cells = budgets.flatMap(({ version, cpuMicroseconds, time, bytes }) => {
      const [share, size] = [time, bytes].map((of) => members.reduce((sum, part) => sum + (of.get(part) ?? 0), 0));
      return [
        [`µs, ${version}`, Math.round(share! * cpuMicroseconds * 10) / 10],
        [`bytes, ${version}`, Math.round(size!)],
      ] as const;
    });
    return { part: title, ...Object.fromEntries(cells) };
  };
  return [
    ...large.map((part) => row(part, [part])),
    ...(small.length > 0 ? [row(`${small.length} smaller ones`, small)] : []),
    row("in total", parts),
  ];
}
