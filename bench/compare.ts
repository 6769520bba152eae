// Finds what has become slower since an earlier commit. The two builds take turns, which two separate runs wouldn't do.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { FOLDER } from "./fixtures.ts";
import { type Contestant, median } from "./processes.ts";
import { inTurn, type Scenario } from "./throughput.ts";

const ROOT = join(import.meta.dirname, "..");
/** An increase in CPU time per request beyond this share is a loss, not noise. */
const LOSS = 0.03;
/** How much higher the ports of the earlier build's servers are. */
const PORT_OFFSET = 100;

/**
 * Compares the CPU time per request with that of an earlier commit.
 *
 * @param commit the earlier commit; `null` for the one of the last recorded run
 * @returns the lines of the report, and whether every scenario has lost at most 3%
 */
export async function measureChange(
  scenarios: readonly Scenario[],
  commit: string | null,
  rounds: number,
  seconds: number,
): Promise<{ readonly lines: readonly string[]; readonly reached: boolean }> {
  const before = git("rev-parse", "--short", commit ?? git("log", "-1", "--format=%h", "--", "bench/RESULTS.md"));
  const folder = join(buildOf(before), "bench");
  const rows: string[] = [];
  const lost: string[] = [];
  for (const scenario of scenarios) {
    const now = scenario.contestants.at(-1)!;
    const earlier: Contestant = { ...now, name: before, folder, port: now.port + PORT_OFFSET };
    const measured = await inTurn({ ...scenario, contestants: [earlier, now] }, rounds, seconds);
    const [old, current] = [earlier, now].map((one) => measured.get(one)!.map((round) => round.cpuMicroseconds));
    const ratios = current!.map((value, round) => value / old![round]!);
    const ratio = median(ratios);
    if (ratio > 1 + LOSS) lost.push(`${scenario.title} (${ratio.toFixed(2)})`);
    const cells = [
      median(old!).toFixed(1),
      median(current!).toFixed(1),
      `**${ratio.toFixed(2)}**`,
      `${Math.min(...ratios).toFixed(2)} – ${Math.max(...ratios).toFixed(2)}`,
    ];
    rows.push(`| ${scenario.title} | ${cells.join(" | ")} |`);
  }
  const lines = [
    `## Since ${before}`,
    "",
    "CPU µs per request of that commit's build and of this one, which take turns: medians, and the ratio within a round.",
    "",
    `| | ${before} | now | ratio | lowest – highest |`,
    "|---|--:|--:|--:|--:|",
    ...rows,
    "",
    `Goal: no scenario needs ${LOSS * 100} % more than before${lost.length === 0 ? "." : `; lost in this run: ${lost.join(", ")}.`}`,
    "",
  ];
  return { lines, reached: lost.length === 0 };
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
}

/**
 * Builds an earlier commit with the packages that are installed here, and returns its folder. Its servers use this run's
 * data.
 */
function buildOf(commit: string): string {
  const folder = join(FOLDER, "before");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  execFileSync("sh", ["-c", `git archive ${commit} | tar -x -C "$0"`, folder], { cwd: ROOT });
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    const target = name === "ashlar" ? join(folder, "packages/ashlar") : join(ROOT, "node_modules", name);
    symlinkSync(target, join(modules, name));
  }
  const nested = join(ROOT, "packages/ashlar/node_modules");
  if (existsSync(nested)) symlinkSync(nested, join(folder, "packages/ashlar/node_modules"));
  symlinkSync(FOLDER, join(folder, ".bench"));
  execFileSync(process.execPath, ["build.ts"], { cwd: join(folder, "packages/ashlar"), stdio: "ignore" });
  return folder;
}
