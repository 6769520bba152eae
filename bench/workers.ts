// Measures the gain from a second worker. Server and load share the processors here, so CPU time counts, not the rate.
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { FOLDER } from "./fixtures.ts";
import { load, median, preciseCpuTime } from "./processes.ts";
import { ashlar, createShop, ORIGIN, type Starter, start, stop } from "./shop.ts";

const PATH = "/login";
const WARM_UP_SECONDS = 8;
/** The second worker boots when the first one serves. */
const BOOT_MS = 2000;
/** The minimum ratio of two workers' capacity to one process's, by CPU time per request. */
const GOAL = 1.85;
/** The minimum ratio of the less busy worker's work to the busier one's. */
const GOAL_SHARE = 0.9;

const one: Starter = { name: "one process", args: ashlar.args };
const two: Starter = { name: "two workers", args: [...ashlar.args, "--workers", "2"] };

interface Measured {
  /** CPU time per request, of all processes, in microseconds. */
  readonly micros: number;
  /** The ratio of the less busy worker's CPU time to the busier one's; `1` without workers. */
  readonly share: number;
}

/** The processes that a process has started. */
function childrenOf(pid: number): number[] {
  return execFileSync("pgrep", ["-P", String(pid)], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map(Number);
}

/**
 * Measures one process and two workers in turn.
 *
 * @returns the lines of the report, and whether two workers reach the goals
 */
export async function measureWorkers(
  rounds: number,
  seconds: number,
): Promise<{ readonly lines: readonly string[]; readonly reached: boolean }> {
  await createShop();
  const script = join(FOLDER, "workers.lua");
  await writeFile(script, "");
  const all = new Map<Starter, Measured[]>([
    [one, []],
    [two, []],
  ]);
  for (let round = 0; round < rounds; round++) {
    for (const [starter, measured] of all) {
      const child = await start(starter);
      try {
        if (starter === two) await sleep(BOOT_MS);
        const workers = starter === two ? childrenOf(child.pid!) : [];
        if (starter === two && workers.length !== 2) throw new Error(`There are ${workers.length} workers.`);
        const processes = [child.pid!, ...workers];
        await load(ORIGIN + PATH, script, WARM_UP_SECONDS, { onAllProcessors: true });
        const before = processes.map(preciseCpuTime);
        const { requests } = await load(ORIGIN + PATH, script, seconds, { onAllProcessors: true });
        const used = processes.map((pid, index) => preciseCpuTime(pid) - before[index]!);
        const [, ...each] = used;
        measured.push({
          micros: (used.reduce((sum, value) => sum + value, 0) * 1000) / requests,
          share: each.length === 0 ? 1 : Math.min(...each) / Math.max(...each),
        });
      } finally {
        await stop(child);
      }
    }
  }
  const of = (starter: Starter, value: (measured: Measured) => number): number => median(all.get(starter)!.map(value));
  const micros = ({ micros: value }: Measured): number => value;
  const ratios = all.get(two)!.map((measured, round) => (2 * all.get(one)![round]!.micros) / measured.micros);
  const [worth, share] = [median(ratios), of(two, (measured) => measured.share)];
  const reached = worth >= GOAL && share >= GOAL_SHARE;
  const lines = [
    "## Two workers",
    "",
    `The page \`${PATH}\` of a new application, from one process and from two workers in turn, ${rounds} rounds of ${seconds} s. Two processors are worth so`,
    "many times one: twice the CPU time per request of one process, by that of all processes with two workers, with the one that",
    "accepts the connections.",
    "",
    "| | CPU µs/request | times one | lowest – highest | less busy worker, of the other |",
    "|---|--:|--:|--:|--:|",
    `| one process | ${of(one, micros).toFixed(1)} | 1.00 | | |`,
    `| two workers | ${of(two, micros).toFixed(1)} | **${worth.toFixed(2)}** | ${Math.min(...ratios).toFixed(2)} – ${Math.max(...ratios).toFixed(2)} | ${Math.round(share * 100)} % |`,
    "",
    `Goal: at least ${GOAL} times one, and at least ${GOAL_SHARE * 100} % of the busier worker${reached ? "." : "; not reached in this run."}`,
    "",
  ];
  return { lines, reached };
}
