// Starts servers, puts load on them, and reads their CPU time.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A server of the benchmark. */
export interface Contestant {
  readonly name: string;
  readonly script: string;
  /** The folder of the benchmark that the script is part of; default: this one. */
  readonly folder?: string;
  readonly port: number;
  readonly environment?: Readonly<Record<string, string>>;
}

/** wrk's report of one run. */
export interface Load {
  readonly requests: number;
  readonly seconds: number;
  /** The mean of the latency, in milliseconds. */
  readonly mean: number;
  /** Its median, in milliseconds. */
  readonly p50: number;
  /** Its 99th percentile, in milliseconds. */
  readonly p99: number;
}

export function has(command: string): boolean {
  try {
    execFileSync("which", [command], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Pins a command to a processor if the system can, so that load and server don't share one. */
export function pinned(processor: number, command: string, args: readonly string[]): [string, string[]] {
  const canPin = cpus().length > 1 && has("taskset");
  return canPin ? ["taskset", ["-c", String(processor), command, ...args]] : [command, [...args]];
}

/** Options for the start of a server. */
export interface StartOptions {
  /** Whether it may use all processors. Default: only the first one. */
  readonly onAllProcessors?: boolean;
  /** Node.js with its options. Default: the current executable, without options. */
  readonly command?: readonly string[];
}

/** Starts a server, and waits until it responds. */
export async function startServer(contestant: Contestant, options: StartOptions = {}): Promise<ChildProcess> {
  const { onAllProcessors = false, command: [node = "", ...flags] = [process.execPath] } = options;
  const script = join(contestant.folder ?? import.meta.dirname, "servers", contestant.script);
  const all = [...flags, script];
  const [command, args] = onAllProcessors ? [node, all] : pinned(0, node, all);
  const child = spawn(command, args, {
    env: { ...process.env, NODE_ENV: "production", PORT: String(contestant.port), ...contestant.environment },
    stdio: ["ignore", "ignore", "inherit"],
  });
  for (let attempt = 0; attempt < 100; attempt++) {
    if (child.exitCode !== null) throw new Error(`${contestant.name} exited while starting`);
    try {
      await fetch(`http://127.0.0.1:${contestant.port}/json`);
      return child;
    } catch {
      await sleep(100);
    }
  }
  throw new Error(`${contestant.name} does not respond on port ${contestant.port}`);
}

/** The user and system time that a process has used so far, in microseconds. */
export function cpuTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** The same time in milliseconds, precise enough to measure a start. Threads that have ended are not counted. */
export function preciseCpuTime(pid: number): number {
  const nanoseconds = readdirSync(`/proc/${pid}/task`).map((thread) => {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
  });
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
}

/** A process's resident memory, in megabytes (of 2^20 bytes). */
export function residentMemory(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))!;
  return Number(kilobytes) / 1024;
}

/** Options for the load on a server. */
export interface LoadOptions {
  readonly connections?: number;
  /** Whether server and load share the processors. */
  readonly onAllProcessors?: boolean;
  /** Whether all requests are expected to be refused, because the refusal is measured. */
  readonly expectsFailures?: boolean;
}

/**
 * Puts load on a server, by default from the other processor.
 *
 * @param script the Lua script that defines wrk's requests
 * @throws if any request failed, or was refused without that being expected: a refusal is fast, and would improve the numbers
 */
export async function load(url: string, script: string, seconds: number, options: LoadOptions = {}): Promise<Load> {
  const { connections = 64, onAllProcessors = false, expectsFailures = false } = options;
  const wrk = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "30s", "--latency", "-s", script, url];
  const [command, args] = onAllProcessors ? ["wrk", wrk] : pinned(1, "wrk", wrk);
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  await new Promise((resolve) => child.on("close", resolve));
  const failure = expectsFailures ? /Socket errors/ : /Non-2xx|Socket errors/;
  if (failure.test(output)) throw new Error(`Some requests to ${url} failed:\n${output}`);
  const [, requests, time] = /(\d+) requests in ([\d.]+)s/.exec(output) ?? [];
  const [mean, p50, p99] = [duration(output, "Latency"), duration(output, "50%"), duration(output, "99%")];
  if (requests === undefined || mean === null || p50 === null || p99 === null)
    throw new Error(`The load generator's report is incomplete:\n${output}`);
  return { requests: Number(requests), seconds: Number(time), mean, p50, p99 };
}

/** The duration that follows a word in wrk's report, in milliseconds. */
function duration(output: string, word: string): number | null {
  const [, value, unit] = new RegExp(`${word}\\s+([\\d.]+)(us|ms|s)`).exec(output) ?? [];
  if (value === undefined) return null;
  return Number(value) * (unit === "us" ? 0.001 : unit === "s" ? 1000 : 1);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The order of a round. It rotates, so that no server always follows the same one. */
export function orderOf(contestants: readonly Contestant[], round: number): Contestant[] {
  return contestants.map((_, index) => contestants[(index + round) % contestants.length]!);
}
