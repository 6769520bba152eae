import childProcess, { ChildProcess } from "node:child_process";
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, join, relative } from "node:path";
import { afterAll, expect } from "vitest";
import type { FileTimes } from "../../../../scripts/test-times/table.ts";

// Appends each test file's CPU time to the file in ASHLAR_TEST_TIMES, for `npm run test-times`. It is loaded before
// each test file, in the process that runs it.

const ROOT = join(import.meta.dirname, "../../../..");
/** The clock ticks of Linux in a second, on all processors that Node runs on. */
const TICKS = 100;

interface Recorded {
  own: number;
  started: number;
  /** The time of ended processes, as of the last program that was counted. */
  ended: number;
  programs: Record<string, { count: number; seconds: number }>;
}

const shared = globalThis as { recordedTimes?: Recorded };
const isFirst = shared.recordedTimes === undefined;
shared.recordedTimes ??= { own: 0, started: 0, ended: 0, programs: {} };
const recorded = shared.recordedTimes;
if (isFirst) watchPrograms();

// The hook that is registered first runs last.
afterAll(() => {
  const [own, started] = [ownSeconds(), startedSeconds()];
  const times: FileTimes = {
    file: relative(ROOT, expect.getState().testPath!),
    own: own - recorded.own,
    started: started - recorded.started,
    programs: recorded.programs,
  };
  appendFileSync(process.env.ASHLAR_TEST_TIMES!, `${JSON.stringify(times)}\n`);
  Object.assign(recorded, { own, started, programs: {} });
});

/** All of Node's asynchronous functions start processes with this. */
interface Starting {
  spawn(options: { readonly file: string; readonly args?: readonly string[] }): unknown;
}

/** Counts the programs that this process starts. When one ends, its time is the increase in what the system reports. */
function watchPrograms(): void {
  const starting = ChildProcess.prototype as unknown as Starting;
  const { spawn } = starting;
  starting.spawn = function (this: ChildProcess & Starting, options) {
    const name = nameOf(options.args ?? [options.file]);
    timesOf(name).count++;
    this.prependListener("exit", () => addEnded(name));
    return spawn.call(this, options);
  };
  for (const method of ["execFileSync", "spawnSync"] as const) {
    const original = childProcess[method] as (file: string, ...rest: unknown[]) => unknown;
    const counted = (file: string, ...rest: unknown[]): unknown => {
      const name = nameOf([file, ...(Array.isArray(rest[0]) ? (rest[0] as string[]) : [])]);
      timesOf(name).count++;
      try {
        return original(file, ...rest);
      } finally {
        addEnded(name);
      }
    };
    Object.assign(childProcess, { [method]: counted });
  }
  syncBuiltinESMExports();
}

function timesOf(name: string): { count: number; seconds: number } {
  recorded.programs[name] ??= { count: 0, seconds: 0 };
  return recorded.programs[name];
}

/** Adds the time of processes that have ended since the last program did. */
function addEnded(name: string): void {
  const ended = endedSeconds();
  timesOf(name).seconds += ended - recorded.ended;
  recorded.ended = ended;
}

/** The name of a program, with its first two arguments. */
function nameOf([program = "", ...args]: readonly string[]): string {
  return [program, ...args.filter((arg) => !arg.startsWith("--input-type")).slice(0, 2)]
    .map((word) => basename(word).split("\n")[0]!.slice(0, 24))
    .join(" ");
}

/** The id of a process's parent, its own times, and those of child processes that it has waited for. */
function statusOf(pid: number | "self"): { readonly parent: number; readonly own: number; readonly ended: number } {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [parent, user, system, endedUser, endedSystem] = [1, 11, 12, 13, 14].map((index) => Number(fields[index]));
  return { parent: parent!, own: (user! + system!) / TICKS, ended: (endedUser! + endedSystem!) / TICKS };
}

const ownSeconds = (): number => statusOf("self").own;
const endedSeconds = (): number => statusOf("self").ended;

/** The time of all processes that this one has started, running or not. */
function startedSeconds(): number {
  const running = new Map<number, ReturnType<typeof statusOf>>();
  for (const pid of readdirSync("/proc")
    .map(Number)
    .filter((id) => id > 0)) {
    try {
      running.set(pid, statusOf(pid));
    } catch {
      // It has ended since.
    }
  }
  const isStarted = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === process.pid || isStarted(running.get(pid)?.parent));
  let seconds = endedSeconds();
  for (const { parent, own, ended } of running.values()) if (isStarted(parent)) seconds += own + ended;
  return seconds;
}
