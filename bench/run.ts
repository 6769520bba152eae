// Ashlar beside its peers, in one run: `npm run bench`. The servers take turns on one processor, the load comes from
// another; each round measures every server once, and what is compared are the ratios within a round.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { FOLDER, makeFixtures, TOKENS, USERS } from "./fixtures.ts";

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const WARM_UP_SECONDS = 3;
const MEASURED_SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const CONNECTIONS = 64;

interface Contestant {
  readonly name: string;
  readonly script: string;
  readonly port: number;
  readonly environment?: Readonly<Record<string, string>>;
}

interface Scenario {
  readonly title: string;
  readonly path: string;
  /** How many different tokens are sent, in turn; 0 for none. */
  readonly tokens: number;
  readonly contestants: readonly Contestant[];
  /** The ratio to bare node:http that Ashlar is held to. */
  readonly goal: number;
}

interface Measurement {
  readonly requestsPerSecond: number;
  readonly cpuMicrosecondsPerRequest: number;
}

const bare: Contestant = { name: "node:http", script: "bare.ts", port: 4101 };
const fastify: Contestant = { name: "Fastify", script: "fastify.ts", port: 4102 };
const ashlar: Contestant = { name: "Ashlar", script: "ashlar.ts", port: 4103 };
const ashlarWithDatabase: Contestant = {
  name: "Ashlar",
  script: "ashlar.ts",
  port: 4104,
  environment: { AUTHENTICATES: "true" },
};

const SCENARIOS: readonly Scenario[] = [
  { title: "GET JSON", path: "/json", tokens: 0, contestants: [bare, fastify, ashlar], goal: 0.88 },
  {
    title: "GET behind a JWT, one token",
    path: "/users/7",
    tokens: 1,
    contestants: [bare, fastify, ashlar],
    goal: 0.88,
  },
  {
    title: `GET behind a JWT, ${TOKENS.toLocaleString("en")} tokens in turn`,
    path: "/users/7",
    tokens: TOKENS,
    contestants: [bare, fastify, ashlar],
    goal: 0.88,
  },
  {
    title: `GET behind a JWT checked against SQLite with ${USERS.toLocaleString("en")} users`,
    path: "/accounts/7",
    tokens: TOKENS,
    contestants: [bare, fastify, ashlarWithDatabase],
    goal: 0.75,
  },
];

function has(command: string): boolean {
  try {
    execFileSync("which", [command], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Pins a command to a processor where the system can, so that load and server do not take turns on one. */
function pinned(processor: number, command: string, args: readonly string[]): [string, string[]] {
  return cpus().length > 1 && has("taskset")
    ? ["taskset", ["-c", String(processor), command, ...args]]
    : [command, [...args]];
}

async function startServer(contestant: Contestant): Promise<ChildProcess> {
  const script = join(import.meta.dirname, "servers", contestant.script);
  const [command, args] = pinned(0, process.execPath, [script]);
  const child = spawn(command, args, {
    env: { ...process.env, NODE_ENV: "production", PORT: String(contestant.port), ...contestant.environment },
    stdio: ["ignore", "ignore", "inherit"],
  });
  for (let attempt = 0; attempt < 100; attempt++) {
    if (child.exitCode !== null) throw new Error(`${contestant.name} ended while starting`);
    try {
      await fetch(`http://127.0.0.1:${contestant.port}/json`);
      return child;
    } catch {
      await sleep(100);
    }
  }
  throw new Error(`${contestant.name} does not answer on port ${contestant.port}`);
}

/** User and system time that a process has used so far, in microseconds. */
function cpuTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** The load: wrk, one thread, its script sending the tokens in turn. */
async function load(port: number, path: string, script: string, seconds: number): Promise<number> {
  const url = `http://127.0.0.1:${port}${path}`;
  const [command, args] = pinned(1, "wrk", ["-t1", `-c${CONNECTIONS}`, `-d${seconds}s`, "-s", script, url]);
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await new Promise((resolve) => child.on("close", resolve));
  if (/Non-2xx|Socket errors/.test(output)) throw new Error(`Some requests to ${url} failed:\n${output}`);
  const requests = /(\d+) requests in/.exec(output)?.[1];
  if (requests === undefined) throw new Error(`The load generator said nothing useful:\n${output}`);
  return Number(requests);
}

async function measure(contestant: Contestant, pid: number, scenario: Scenario, script: string): Promise<Measurement> {
  const cpuBefore = cpuTime(pid);
  const requests = await load(contestant.port, scenario.path, script, MEASURED_SECONDS);
  return {
    requestsPerSecond: requests / MEASURED_SECONDS,
    cpuMicrosecondsPerRequest: (cpuTime(pid) - cpuBefore) / requests,
  };
}

/** Checks that a server answers what the others answer: a quick wrong answer would win. */
async function requireSameAnswer(scenario: Scenario, tokens: readonly string[]): Promise<void> {
  const bodies = new Set<string>();
  for (const { port } of scenario.contestants) {
    const headers = scenario.tokens > 0 ? { Authorization: `Bearer ${tokens[6]}` } : {};
    const response = await fetch(`http://127.0.0.1:${port}${scenario.path}`, { headers });
    bodies.add(`${response.status} ${await response.text()}`);
    if (scenario.tokens > 0) {
      const refused = await fetch(`http://127.0.0.1:${port}${scenario.path}`, {
        headers: { Authorization: `Bearer ${tokens[6]}x` },
      });
      if (refused.status !== 401) throw new Error(`Port ${port} does not refuse a broken token on ${scenario.path}`);
    }
  }
  if (bodies.size !== 1) throw new Error(`The servers answer ${scenario.path} differently:\n${[...bodies].join("\n")}`);
}

async function writeLoadScript(scenario: Scenario, tokens: readonly string[]): Promise<string> {
  const path = join(FOLDER, `load-${scenario.tokens}.lua`);
  const list = join(FOLDER, `tokens-${scenario.tokens}.txt`);
  await writeFile(list, `${tokens.slice(0, scenario.tokens).join("\n")}\n`);
  const script =
    scenario.tokens === 0
      ? "-- every request is alike"
      : `local requests, index = {}, 0
function init()
  for token in io.lines(${JSON.stringify(list)}) do
    requests[#requests + 1] = wrk.format("GET", nil, { ["Authorization"] = "Bearer " .. token })
  end
end
function request()
  index = index % #requests + 1
  return requests[index]
end
`;
  await writeFile(path, script);
  return path;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

function version(packageName: string): string {
  const path = join(import.meta.dirname, "..", "node_modules", packageName, "package.json");
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}

async function run(scenario: Scenario, tokens: readonly string[]): Promise<string[]> {
  const script = await writeLoadScript(scenario, tokens);
  const results = new Map<Contestant, Measurement[]>(scenario.contestants.map((contestant) => [contestant, []]));
  const servers = new Map<Contestant, ChildProcess>();
  try {
    for (const contestant of scenario.contestants) servers.set(contestant, await startServer(contestant));
    await requireSameAnswer(scenario, tokens);
    for (const { port } of scenario.contestants) await load(port, scenario.path, script, WARM_UP_SECONDS);
    for (let round = 0; round < ROUNDS; round++) {
      for (const contestant of scenario.contestants) {
        results.get(contestant)!.push(await measure(contestant, servers.get(contestant)!.pid!, scenario, script));
      }
    }
  } finally {
    for (const server of servers.values()) server.kill("SIGKILL");
  }

  const reference = results.get(bare)!;
  const lines = [
    `## ${scenario.title}`,
    "",
    "| server | ratio | lowest | highest | requests/s | CPU µs/request |",
    "|---|--:|--:|--:|--:|--:|",
  ];
  for (const [contestant, measurements] of results) {
    const ratios = measurements.map((one, round) => one.requestsPerSecond / reference[round]!.requestsPerSecond);
    const cells = [
      median(ratios).toFixed(2),
      Math.min(...ratios).toFixed(2),
      Math.max(...ratios).toFixed(2),
      Math.round(median(measurements.map((one) => one.requestsPerSecond))).toLocaleString("en"),
      median(measurements.map((one) => one.cpuMicrosecondsPerRequest)).toFixed(1),
    ];
    lines.push(`| ${contestant.name} | ${cells.join(" | ")} |`);
    if (contestant.name === "Ashlar" && median(ratios) < scenario.goal) {
      console.error(
        `${scenario.title}: Ashlar is at ${median(ratios).toFixed(2)}, below its goal of ${scenario.goal}.`,
      );
      process.exitCode = 1;
    }
  }
  console.log(`${lines.join("\n")}\n`);
  return [...lines, "", `Goal for Ashlar: at least ${scenario.goal}.`, ""];
}

if (!has("wrk")) {
  console.error("The benchmark needs wrk, the load generator: apt-get install wrk, or brew install wrk.");
  process.exit(1);
}
await mkdir(FOLDER, { recursive: true });
const tokens = await makeFixtures();
const sections: string[] = [];
for (const scenario of SCENARIOS) sections.push(...(await run(scenario, tokens)));

const introduction = [
  "# Results",
  "",
  "Written by `npm run bench`. Ratios are to bare `node:http` doing the same work by hand, within one round of one run:",
  `the servers take turns on one processor, the load (wrk, ${CONNECTIONS} connections) comes from another; ${ROUNDS} rounds of ${MEASURED_SECONDS} s`,
  "after a warm-up, medians, with the lowest and the highest ratio beside them. Absolute numbers belong to the machine.",
  "",
  `${cpus()[0]?.model.trim() ?? "unknown processor"}, ${cpus().length} processors · Node.js ${process.versions.node} · Fastify ${version("fastify")} · @fastify/jwt ${version("@fastify/jwt")} · ${new Date().toISOString().slice(0, 10)}`,
  "",
];
await writeFile(join(import.meta.dirname, "RESULTS.md"), [...introduction, ...sections].join("\n"));
