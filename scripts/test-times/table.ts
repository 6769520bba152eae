import { availableParallelism, cpus } from "node:os";

/** The processor time that a test file took, as `test/support/cpu-profile.ts` records it, in seconds. */
export interface FileTimes {
  /** Relative to the repository. */
  readonly file: string;
  /** The time of the process that ran it, including loading its modules. */
  readonly own: number;
  /** The time of the processes that it started, including their own child processes. */
  readonly started: number;
  /** The programs that it started, by name: how often, and for how long. */
  readonly programs: Readonly<Record<string, ProgramTimes>>;
}

interface ProgramTimes {
  readonly count: number;
  readonly seconds: number;
}

/** A run of tests, with a name for its columns. */
export interface Run {
  readonly name: string;
  readonly records: readonly FileTimes[];
}

/** How many files and programs the tables list. */
const ROWS = 30;

/**
 * A page with the processor times of runs: of the files that took the most time in the first run, and of the programs that
 * tests start. With several runs, only files that occur in all of them are counted.
 */
export function timesPage(runs: readonly Run[]): string {
  const files = runs.map(({ records }) => byFile(records));
  const inAll = [...files[0]!.keys()].filter((file) => files.every((times) => times.has(file)));
  const sums = files.map((times) => inAll.reduce((sum, file) => sum + times.get(file)!, 0));
  const programs = runs.map(({ records }) => byProgram(records.filter(({ file }) => inAll.includes(file))));
  const slowest = inAll.toSorted((one, other) => files[0]!.get(other)! - files[0]!.get(one)!).slice(0, ROWS);
  const started = [...programs[0]!.keys()]
    .toSorted((one, other) => programs[0]!.get(other)!.seconds - programs[0]!.get(one)!.seconds)
    .slice(0, ROWS);
  const names = runs.map(({ name }) => name);
  return `# Processor time of the tests

Written by \`npm run test-times -- --page\`, in seconds of processor time, with all processes that a file starts. On a machine that
does something else too, they can be a quarter more. The first file of a process includes loading the framework.

${cpus()[0]?.model ?? "?"}, ${availableParallelism()} processors · Node.js ${process.versions.node} · ${inAll.length} files, in all:
${names.map((name, index) => `${name} ${sums[index]!.toFixed(0)} s`).join(", ")}.

## Files

${row(["file", ...names])}
${row(["---", ...names.map(() => "--:")])}
${slowest.map((file) => row([file, ...files.map((times) => times.get(file)!.toFixed(1))])).join("\n")}

## Programs

${row(["program", ...names.flatMap((name) => [`starts, ${name}`, name])])}
${row(["---", ...names.flatMap(() => ["--:", "--:"])])}
${started.map((name) => row([`\`${name}\``, ...programs.flatMap((times) => cells(times.get(name)))])).join("\n")}
`;
}

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

function cells({ count, seconds }: ProgramTimes = { count: 0, seconds: 0 }): string[] {
  return [String(count), seconds.toFixed(1)];
}

function byFile(records: readonly FileTimes[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { file, own, started } of records) times.set(file, (times.get(file) ?? 0) + own + started);
  return times;
}

function byProgram(records: readonly FileTimes[]): Map<string, ProgramTimes> {
  const programs = new Map<string, ProgramTimes>();
  for (const [name, { count, seconds }] of records.flatMap((record) => Object.entries(record.programs))) {
    const known = programs.get(name) ?? { count: 0, seconds: 0 };
    programs.set(name, { count: known.count + count, seconds: known.seconds + seconds });
  }
  return programs;
}
