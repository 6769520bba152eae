// How a server behaves at twice its capacity, in an open loop: with and without load shedding.
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FOLDER } from "./fixtures.ts";
import { type Contestant, load, median, orderOf, pinned, startServer } from "./processes.ts";

const PATH = "/busy/1";
const OVERLOAD = 2;
const DURATION_MS = 8000;
const SATURATION_SECONDS = 2;
/** Enough to keep a server busy, and few enough that each gets its response soon. */
const SATURATING_CONNECTIONS = 16;

/** How the requests of one run were answered; times are in milliseconds. */
interface Outcome {
  readonly sent: number;
  readonly answered: number;
  readonly refused: number;
  /** Requests that were answered after more than 10 seconds, or not at all. */
  readonly late: number;
  readonly p50: number | null;
  readonly p99: number | null;
  readonly refusedP99: number | null;
}

/** Runs a function with a server in a separate process, so that one run's unanswered requests don't burden the next. */
async function withServer<Result>(contestant: Contestant, work: () => Promise<Result>): Promise<Result> {
  const server = await startServer(contestant);
  try {
    return await work();
  } finally {
    server.kill("SIGKILL");
  }
}

/** Finds out how many requests per second a server can answer without a limit, and then sends it twice as many. */
async function overload(contestant: Contestant): Promise<Outcome> {
  const { port } = contestant;
  const luaScript = join(FOLDER, "overload.lua");
  await writeFile(luaScript, "");
  const { requests, seconds } = await withServer({ ...contestant, environment: {} }, () =>
    load(`http://127.0.0.1:${port}${PATH}`, luaScript, SATURATION_SECONDS, { connections: SATURATING_CONNECTIONS }),
  );
  const rate = Math.round((OVERLOAD * requests) / seconds);
  const script = join(import.meta.dirname, "overload-client.ts");
  const numbers = [rate, DURATION_MS].map(String);
  const [command, args] = pinned(1, process.execPath, [script, String(port), PATH, ...numbers]);
  return withServer(contestant, async () => {
    return JSON.parse(execFileSync(command, args, { encoding: "utf8" })) as Outcome;
  });
}

/**
 * Measures servers at twice the load that saturates them; they take turns.
 *
 * @returns the lines of the report, and whether Ashlar answers as many requests as it has capacity for, all in time
 */
export async function measureOverload(
  contestants: readonly Contestant[],
  rounds: number,
): Promise<{ readonly lines: readonly string[]; readonly reached: boolean }> {
  const outcomes = new Map<Contestant, Outcome[]>(contestants.map((contestant) => [contestant, []]));
  for (let round = 0; round < rounds; round++) {
    for (const contestant of orderOf(contestants, round)) outcomes.get(contestant)!.push(await overload(contestant));
  }
  const of = (all: readonly Outcome[], value: (one: Outcome) => number): number => median(all.map(value));
  const seconds = DURATION_MS / 1000;
  const rows = [...outcomes].map(([{ name }, all]) => {
    const times = (["p50", "p99", "refusedP99"] as const).map((key) => {
      const measured = all.flatMap((one) => one[key] ?? []);
      return measured.length === 0 ? "" : Math.round(median(measured)).toLocaleString("en");
    });
    const cells = [
      Math.round(of(all, ({ sent }) => sent) / seconds).toLocaleString("en"),
      Math.round(of(all, ({ answered }) => answered) / seconds).toLocaleString("en"),
      `${Math.round(100 * of(all, ({ refused, sent }) => refused / sent))} %`,
      ...times,
      `${Math.round(100 * of(all, ({ late, sent }) => late / sent))} %`,
    ];
    return `| ${name} | ${cells.join(" | ")} |`;
  });
  const missed = [...outcomes]
    .filter(([{ name }, all]) => /Ashlar, maxQueueMs/.test(name) && of(all, ({ late }) => late) > 0)
    .map(([{ name }]) => name);
  const lines = [
    "## Overload",
    "",
    `Requests of 1 ms each, in an open loop at ${OVERLOAD} times the rate that the same server could answer just before, for`,
    `${seconds} s on 200 connections. Times are in ms from when a request was due; answers were awaited for another 15 s. Medians`,
    `of ${rounds} ${rounds === 1 ? "round" : "rounds"}, in which each server has its own process and takes its turn.`,
    "",
    "| server | sent/s | answered/s | refused | p50 | p99 | p99 of refusals | later than 10 s, or never |",
    "|---|--:|--:|--:|--:|--:|--:|--:|",
    ...rows,
    "",
    `Goal for Ashlar with a limit: nothing is answered after more than 10 s${missed.length === 0 ? "." : `; not reached in this run by ${missed.join(", ")}.`}`,
    "",
  ];
  return { lines, reached: missed.length === 0 };
}
