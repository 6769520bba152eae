// A storm of logins: how many of the machine's hashes become logins, and what it does to everybody else.
import type { ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { verify } from "@node-rs/argon2";
import { FOLDER, PASSWORD, PASSWORD_HASH } from "./fixtures.ts";
import { type Contestant, cpuTime, load, median, startServer } from "./processes.ts";

/** As many hashes at once as the framework computes at once on two processors. */
const AT_ONCE = 3;
const CLIENTS = 16;
const GOAL = 0.95;
const LATENCY_GOAL = 5;

/** Requests for a plain route: 16 connections that wait for 40 ms between them, so some 400 a second. */
const PLAIN_CONNECTIONS = 16;
const PLAIN_SCRIPT = "function delay()\n  return 40\nend\n";

const LOGIN_SCRIPT = `local index = 0
function request()
  index = index % 1000 + 1
  local body = '{"email":"user' .. index .. '@example.com","password":"${PASSWORD}"}'
  return wrk.format("POST", nil, { ["Content-Type"] = "application/json" }, body)
end
`;

interface Storm {
  readonly loginsPerSecond: number;
  /** What the server's process used for a login. */
  readonly cpuMilliseconds: number;
  /** The plain route's 99th percentile at rest and during a storm, in milliseconds. */
  readonly atRest: number;
  readonly inStorm: number;
}

/** Hashes per second with nothing around them, and what each costs: what the processors allow. */
async function bareHashes(seconds: number): Promise<{ readonly perSecond: number; readonly cpuMilliseconds: number }> {
  const end = performance.now() + seconds * 1000;
  const before = cpuTime(process.pid);
  let count = 0;
  const work = async (): Promise<void> => {
    while (performance.now() < end) {
      if (!(await verify(PASSWORD_HASH, PASSWORD))) throw new Error("The hash is not that of the password");
      count++;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { perSecond: count / seconds, cpuMilliseconds: (cpuTime(process.pid) - before) / 1000 / count };
}

/** Checks that a server lets in who has the password, and nobody else: not to hash would win. */
async function requireLogin({ name, port }: Contestant): Promise<void> {
  const answers = [PASSWORD, `${PASSWORD}!`].map(async (password) => {
    const body = JSON.stringify({ email: "user1@example.com", password });
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(`http://127.0.0.1:${port}/login`, { method: "POST", headers, body });
    return response.text();
  });
  const said = (await Promise.all(answers)).join(" ");
  if (said !== '{"ok":true} {"ok":false}') throw new Error(`${name} answers a right and a wrong password ${said}`);
}

/** Server and load share the processors here: hashing takes all of them. */
const SHARED = { onAllProcessors: true } as const;

async function storm(port: number, pid: number, seconds: number): Promise<Storm> {
  const login = (): ReturnType<typeof load> =>
    load(`http://127.0.0.1:${port}/login`, join(FOLDER, "login.lua"), seconds, { ...SHARED, connections: CLIENTS });
  const plain = async (): Promise<number> => {
    const options = { ...SHARED, connections: PLAIN_CONNECTIONS };
    return (await load(`http://127.0.0.1:${port}/json`, join(FOLDER, "plain.lua"), seconds, options)).p99;
  };
  const before = cpuTime(pid);
  const { requests, seconds: took } = await login();
  const cpuMilliseconds = (cpuTime(pid) - before) / 1000 / requests;
  const atRest = await plain();
  const [inStorm] = await Promise.all([plain(), login()]);
  return { loginsPerSecond: requests / took, cpuMilliseconds, atRest, inStorm };
}

/**
 * Measures logins against the bare hash, and a plain route at rest and during the storm, in turn.
 *
 * @param contestants the first is what the others are compared to
 * @returns the lines of the report, and whether Ashlar reached its goals
 */
export async function measureLogins(
  contestants: readonly Contestant[],
  rounds: number,
  seconds: number,
): Promise<{ readonly lines: readonly string[]; readonly reached: boolean }> {
  await writeFile(join(FOLDER, "login.lua"), LOGIN_SCRIPT);
  await writeFile(join(FOLDER, "plain.lua"), PLAIN_SCRIPT);
  const hashes: Awaited<ReturnType<typeof bareHashes>>[] = [];
  const results = new Map<Contestant, Storm[]>(contestants.map((contestant) => [contestant, []]));
  const servers = new Map<Contestant, ChildProcess>();
  try {
    for (const contestant of contestants) servers.set(contestant, await startServer(contestant, true));
    for (const contestant of contestants) {
      await requireLogin(contestant);
      await storm(contestant.port, servers.get(contestant)!.pid!, 1);
    }
    for (let round = 0; round < rounds; round++) {
      hashes.push(await bareHashes(seconds));
      const order = contestants.map((_, index) => contestants[(index + round) % contestants.length]!);
      for (const contestant of order)
        results.get(contestant)!.push(await storm(contestant.port, servers.get(contestant)!.pid!, seconds));
    }
  } finally {
    for (const server of servers.values()) server.kill("SIGKILL");
  }
  return report(hashes, results);
}

function report(
  hashes: readonly { readonly perSecond: number; readonly cpuMilliseconds: number }[],
  results: ReadonlyMap<Contestant, readonly Storm[]>,
): { readonly lines: readonly string[]; readonly reached: boolean } {
  const [reference] = [...results.values()];
  let reached = true;
  const rows = [...results].map(([{ name }, storms]) => {
    const ofReference = median(storms.map((one, round) => one.loginsPerSecond / reference![round]!.loginsPerSecond));
    const ofHashes = median(storms.map((one, round) => one.loginsPerSecond / hashes[round]!.perSecond));
    const slower = median(storms.map((one) => one.inStorm / one.atRest));
    if (name === "Ashlar") reached = ofReference >= GOAL && slower <= LATENCY_GOAL;
    const cells = [
      `**${ofReference.toFixed(2)}**`,
      ofHashes.toFixed(2),
      median(storms.map((one) => one.loginsPerSecond)).toFixed(0),
      median(storms.map((one) => one.cpuMilliseconds)).toFixed(2),
      `${median(storms.map((one) => one.atRest)).toFixed(1)} ms`,
      `${median(storms.map((one) => one.inStorm)).toFixed(1)} ms`,
      `**${slower.toFixed(1)}**`,
    ];
    return `| ${name} | ${cells.join(" | ")} |`;
  });
  const bare = [
    median(hashes.map((one) => one.perSecond)).toFixed(0),
    median(hashes.map((one) => one.cpuMilliseconds)).toFixed(2),
  ];
  const lines = [
    "## A storm of logins",
    "",
    "Here node:http looks the user up and verifies the password, and does nothing else that a login is: its rate is what",
    "the hash allows over HTTP. Server and load share the processors, since hashing takes all of them.",
    "",
    "| server | ratio | to the bare hash | logins/s | CPU ms/login | a plain route's p99 at rest | in the storm | times |",
    "|---|--:|--:|--:|--:|--:|--:|--:|",
    `| a loop of hashes, ${AT_ONCE} at once | | 1.00 | ${bare[0]} | ${bare[1]} | | | |`,
    ...rows,
    "",
    `Goals for Ashlar: a ratio of at least ${GOAL}; the plain route's p99 at most ${LATENCY_GOAL} times that at rest${reached ? "." : "; not reached in this run."}`,
    "",
  ];
  return { lines, reached };
}
