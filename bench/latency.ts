// Response times when several requests arrive at once, in an open loop: bursts on a schedule that uses 60% of a processor,
// for handlers that compute for 0, 1 and 5 ms.
import { type ChildProcess, execFileSync } from "node:child_process";
import { join } from "node:path";
import { type Contestant, median, orderOf, pinned, startServer } from "./processes.ts";

const HANDLER_MS = [0, 1, 5];
const CONNECTIONS = [1, 8, 40, 200];
/** The cost of a request without its handler, in milliseconds; generous, so that no server is overloaded. */
const OVERHEAD_MS = 0.05;
const UTILIZATION = 0.6;
/** Timers are not more precise than this. */
const SHORTEST_INTERVAL_MS = 2;
/** The duration of each measurement, in milliseconds, and its minimum number of bursts. */
const DURATION_MS = 2000;
const FEWEST_BURSTS = 4;
/**
 * The maximum ratio of Ashlar's mean to the bare server's in the same round, as the median of the rounds. It allows for the
 * difference between rounds of equal servers.
 */
const GOAL = 1.05;

/** Response times, in milliseconds. */
interface Latency {
  /** The first response of a burst, as the median of the bursts. */
  readonly first: number;
  readonly mean: number;
  readonly p99: number;
}

function measure({ port }: Contestant, handlerMs: number, connections: number, durationMs: number): Latency {
  const intervalMs = Math.max(SHORTEST_INTERVAL_MS, (connections * (handlerMs + OVERHEAD_MS)) / UTILIZATION);
  const bursts = Math.max(FEWEST_BURSTS, Math.round(durationMs / intervalMs));
  const script = join(import.meta.dirname, "latency-client.ts");
  const numbers = [connections, bursts, intervalMs].map(String);
  const [command, args] = pinned(1, process.execPath, [script, String(port), `/busy/${handlerMs}`, ...numbers]);
  return JSON.parse(execFileSync(command, args, { encoding: "utf8" })) as Latency;
}

/**
 * Measures the latency of servers, which take turns.
 *
 * @param contestants the others are compared to the first
 * @returns the lines of the report, and whether Ashlar reached its goal everywhere
 */
export async function measureLatency(
  contestants: readonly Contestant[],
  rounds: number,
): Promise<{ readonly lines: readonly string[]; readonly reached: boolean }> {
  const servers: ChildProcess[] = [];
  const rows: string[] = [];
  const missed: string[] = [];
  try {
    for (const contestant of contestants) servers.push(await startServer(contestant));
    for (const contestant of contestants) measure(contestant, 0, 40, DURATION_MS);
    for (const handlerMs of HANDLER_MS) {
      for (const connections of CONNECTIONS) {
        const results = new Map<Contestant, Latency[]>(contestants.map((contestant) => [contestant, []]));
        for (let round = 0; round < rounds; round++) {
          for (const contestant of orderOf(contestants, round)) {
            results.get(contestant)!.push(measure(contestant, handlerMs, connections, DURATION_MS));
          }
        }
        const reference = results.get(contestants[0]!)!;
        for (const [{ name }, latencies] of results) {
          const ratios = latencies.map(({ mean }, round) => mean / reference[round]!.mean);
          const ratio = median(ratios);
          if (name === "Ashlar" && ratio > GOAL) missed.push(`${handlerMs} ms × ${connections}`);
          const times = (["first", "mean", "p99"] as const).map((key) => median(latencies.map((one) => one[key])));
          const range = `${Math.min(...ratios).toFixed(2)} – ${Math.max(...ratios).toFixed(2)}`;
          const cells = [...times.map((time) => time.toFixed(2)), `**${ratio.toFixed(2)}**`, range];
          rows.push(`| ${handlerMs} ms | ${connections} | ${name} | ${cells.join(" | ")} |`);
        }
      }
    }
  } finally {
    for (const server of servers) server.kill("SIGKILL");
  }
  const verdict = missed.length === 0 ? "." : `; not reached in this run at ${missed.join(", ")}.`;
  const lines = [
    "## Latency of requests that arrive together",
    "",
    "An open loop: bursts of one request per connection, on a schedule that uses about 60% of a processor. The times are",
    "medians over the rounds, separately for each column. The ratio is the median over the rounds of the ratio of the means",
    "in a round: if rounds differ a lot, it is not the ratio of the two printed means.",
    "",
    "| handler | connections | server | first response, ms | mean, ms | p99, ms | mean, ratio | lowest – highest |",
    "|--:|--:|---|--:|--:|--:|--:|--:|",
    ...rows,
    "",
    `Goal for Ashlar: a ratio of at most ${GOAL}, everywhere${verdict}`,
    "",
  ];
  return { lines, reached: missed.length === 0 };
}
