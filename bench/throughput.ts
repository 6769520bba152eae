// As many requests as possible, one after the other: ratios to bare node:http within a round.
import type { ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FOLDER } from "./fixtures.ts";
import { type Contestant, cpuTime, load, median, orderOf, startServer } from "./processes.ts";

/** How many credentials are tried at once before the measurement. */
const CHECKED_AT_ONCE = 32;
/** Until the JIT compiler has settled, which takes longest for the server with the most code. */
const WARM_UP_SECONDS = Number(process.env.BENCH_WARM_UP ?? 8);

/** The requests that all servers get, and Ashlar's goal. */
export interface Scenario {
  readonly title: string;
  readonly path: string;
  /** The credentials that identify the client; `null` for anonymous requests. */
  readonly credential: Credential | null;
  /** The status for a broken credential. */
  readonly refusal: number;
  /** The others are compared to the first. */
  readonly contestants: readonly Contestant[];
  /** The minimum ratio for Ashlar. */
  readonly goal: number;
}

/** A header that identifies the client. */
export interface Credential {
  readonly header: "Authorization" | "Cookie";
  /** Its values, sent in turn. */
  readonly values: readonly string[];
  /** Returns the same value with an invalid signature or token. */
  readonly broken: (value: string) => string;
}

/** A server's results in a round. */
export interface Measurement {
  readonly requestsPerSecond: number;
  readonly cpuMicroseconds: number;
  /** Response times, in milliseconds. */
  readonly mean: number;
  readonly p99: number;
}

/** Checks that all servers respond alike to every credential: a fast wrong response would win. */
async function requireSameAnswer({ contestants, path, credential, refusal }: Scenario): Promise<void> {
  const ask = async ({ port }: Contestant, value: string | null): Promise<{ status: number; text: string }> => {
    const headers: Record<string, string> = credential && value !== null ? { [credential.header]: value } : {};
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers, redirect: "manual" });
    return { status: response.status, text: (await response.text()).trim() };
  };
  const check = async (value: string | null): Promise<void> => {
    const answers = await Promise.all(contestants.map((contestant) => ask(contestant, value)));
    const different = new Set(answers.map(({ status, text }) => `${status} ${text}`));
    if (different.size !== 1)
      throw new Error(`The servers respond to ${path} differently:\n${[...different].join("\n")}`);
  };
  const values = credential?.values ?? [null];
  for (let begin = 0; begin < values.length; begin += CHECKED_AT_ONCE) {
    await Promise.all(values.slice(begin, begin + CHECKED_AT_ONCE).map(check));
  }
  if (credential === null) return;
  for (const contestant of contestants) {
    const { status } = await ask(contestant, credential.broken(credential.values[0]!));
    if (status !== refusal)
      throw new Error(`${contestant.name} responds with ${status} to a broken credential on ${path}`);
  }
}

/** Writes wrk's script for a scenario's requests, and returns its path. */
export async function writeLoadScript({ credential, path }: Scenario): Promise<string> {
  const name = join(FOLDER, `load${path.replaceAll("/", "-")}-${credential?.values.length ?? 0}`);
  if (credential === null) {
    await writeFile(`${name}.lua`, "-- all requests are the same\n");
    return `${name}.lua`;
  }
  await writeFile(`${name}.txt`, `${credential.values.join("\n")}\n`);
  await writeFile(
    `${name}.lua`,
    `local requests, index = {}, 0
function init()
  for value in io.lines(${JSON.stringify(`${name}.txt`)}) do
    requests[#requests + 1] = wrk.format("GET", nil, { ["${credential.header}"] = value })
  end
end
function request()
  index = index % #requests + 1
  return requests[index]
end
`,
  );
  return `${name}.lua`;
}

async function measure(
  { port }: Contestant,
  pid: number,
  path: string,
  script: string,
  seconds: number,
): Promise<Measurement> {
  const before = cpuTime(pid);
  const { requests, seconds: took, mean, p99 } = await load(`http://127.0.0.1:${port}${path}`, script, seconds);
  return { requestsPerSecond: requests / took, cpuMicroseconds: (cpuTime(pid) - before) / requests, mean, p99 };
}

/**
 * Measures a scenario, the servers taking turns.
 *
 * @returns the lines of the report, and whether Ashlar reached its goal
 */
export async function measureThroughput(
  scenario: Scenario,
  rounds: number,
  seconds: number,
): Promise<{ readonly lines: readonly string[]; readonly reached: boolean }> {
  return report(scenario, await inTurn(scenario, rounds, seconds));
}

/** Measures each server of a scenario once in a round, after it has warmed up. */
export async function inTurn(
  scenario: Scenario,
  rounds: number,
  seconds: number,
): Promise<ReadonlyMap<Contestant, readonly Measurement[]>> {
  const { contestants, path } = scenario;
  const script = await writeLoadScript(scenario);
  const results = new Map<Contestant, Measurement[]>(contestants.map((contestant) => [contestant, []]));
  const servers = new Map<Contestant, ChildProcess>();
  try {
    for (const contestant of contestants) servers.set(contestant, await startServer(contestant));
    await requireSameAnswer(scenario);
    for (const { port } of contestants) await load(`http://127.0.0.1:${port}${path}`, script, WARM_UP_SECONDS);
    for (let round = 0; round < rounds; round++) {
      const order = orderOf(contestants, round);
      for (const contestant of order) {
        const { pid } = servers.get(contestant)!;
        results.get(contestant)!.push(await measure(contestant, pid!, path, script, seconds));
      }
    }
  } finally {
    for (const server of servers.values()) server.kill("SIGKILL");
  }
  return results;
}

function report(
  { title, goal, contestants }: Scenario,
  results: ReadonlyMap<Contestant, readonly Measurement[]>,
): { readonly lines: readonly string[]; readonly reached: boolean } {
  const reference = results.get(contestants[0]!)!;
  let reached = true;
  const rows = [...results].map(([{ name }, measurements]) => {
    const ratios = measurements.map((one, round) => one.requestsPerSecond / reference[round]!.requestsPerSecond);
    const cpuRatio = median(measurements.map((one, round) => reference[round]!.cpuMicroseconds / one.cpuMicroseconds));
    if (name === "Ashlar") reached = median(ratios) >= goal;
    const cells = [
      `**${median(ratios).toFixed(2)}**`,
      `${Math.min(...ratios).toFixed(2)} – ${Math.max(...ratios).toFixed(2)}`,
      Math.round(median(measurements.map((one) => one.requestsPerSecond))).toLocaleString("en"),
      cpuRatio.toFixed(2),
      median(measurements.map((one) => one.cpuMicroseconds)).toFixed(1),
      median(measurements.map((one) => one.mean)).toFixed(2),
      median(measurements.map((one) => one.p99)).toFixed(2),
    ];
    return `| ${name} | ${cells.join(" | ")} |`;
  });
  const lines = [
    `## ${title}`,
    "",
    "| server | ratio | lowest – highest | requests/s | ratio by CPU time | CPU µs/request | mean, ms | p99, ms |",
    "|---|--:|--:|--:|--:|--:|--:|--:|",
    ...rows,
    "",
    `Goal for Ashlar: a ratio of at least ${goal}${reached ? "." : "; not reached in this run."}`,
    "",
  ];
  return { lines, reached };
}
