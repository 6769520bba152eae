// A Vitest runner for one process that runs test files many times, each time with another mutant. The jobs are in the file
// named by ASHLAR_MUTANTS; results are appended to the file next to it, line by line, so that the progress of a process
// that hangs or dies is known.

import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type RunnerTestCase, type RunnerTestFile, type RunnerTestSuite, TestRunner, vi } from "vitest";

/** One run of a test file. */
export interface Job {
  readonly name: string;
  readonly file: string;
  /** The mutant's number; -1 for the original code. */
  readonly mutant: number;
  /** The ids of the relevant tests; all tests if missing. */
  readonly tests?: readonly string[];
  readonly limitMs: number;
  /** Whether to record which mutants each test reaches. */
  readonly learn?: boolean;
}

export interface LearnedTest {
  readonly id: string;
  readonly ms: number;
  readonly hits: readonly number[];
}

/** What a file reaches: while it loads, around its tests, and in each of them. */
export interface Learned {
  readonly loading: readonly number[];
  readonly around: readonly number[];
  readonly tests: readonly LearnedTest[];
  readonly loadMs: number;
}

export type Progress =
  | { readonly kind: "process"; readonly pid: number }
  | { readonly kind: "start"; readonly name: string; readonly limitMs: number }
  | { readonly kind: "end"; readonly name: string; readonly failure?: string; readonly learned?: Learned };

const jobsFile = process.env.ASHLAR_MUTANTS!;

function report(progress: Progress): void {
  appendFileSync(`${jobsFile}.progress`, `${JSON.stringify(progress)}\n`);
}

const jobs = JSON.parse(readFileSync(jobsFile, "utf8")) as Job[];
const loaded = new Set<number>();
let seen = loaded;
let active = -1;
let problem: string | undefined;

(globalThis as { __mutant?: (number: number) => boolean }).__mutant = jobs[0]?.learn
  ? (number) => {
      seen.add(number);
      return false;
    }
  : (number) => number === active;

const EVENTS = ["unhandledRejection", "uncaughtException"] as const;
/** The number of listeners before a file is loaded: Vitest's and those here. */
let listeners: readonly number[] = [];
for (const [index, event] of EVENTS.entries()) {
  process.on(event, (error: unknown) => {
    // As in Vitest, the error belongs to a test or the product if they listen too.
    if (process.listenerCount(event) <= listeners[index]!) problem ??= `outside of any test: ${String(error)}`;
  });
}
report({ kind: "process", pid: process.pid });

function failureIn(suite: RunnerTestSuite | RunnerTestFile): string | undefined {
  for (const task of suite.tasks) {
    const failure =
      task.type === "suite"
        ? failureIn(task)
        : task.result?.state === "fail"
          ? `${task.name}: ${task.result.errors?.[0]?.message}`
          : undefined;
    if (failure) return failure;
  }
  return suite.result?.errors?.length ? `${suite.name}: ${suite.result.errors[0]!.message}` : undefined;
}

export default class MutantRunner extends TestRunner {
  #job: Job | undefined;
  #failed = false;
  #around = new Set<number>();
  #tests: LearnedTest[] = [];
  #testStart = 0;
  #loadStart = 0;
  #loadMs = 0;

  onBeforeCollect([file]: string[]): void {
    const next = jobs.findIndex((job) => job.file === file);
    this.#job = next < 0 ? undefined : jobs.splice(next, 1)[0];
    if (!this.#job) return;
    vi.resetModules();
    this.#failed = false;
    this.#tests = [];
    this.#around = new Set();
    loaded.clear();
    seen = loaded;
    problem = undefined;
    listeners = EVENTS.map((event) => process.listenerCount(event));
    active = this.#job.mutant;
    this.#loadStart = performance.now();
    report({ kind: "start", name: this.#job.name, limitMs: this.#job.limitMs });
  }

  override importFile(filepath: string, source: "collect" | "setup"): unknown {
    return this.#job || source === "setup" ? super.importFile(filepath, source) : undefined;
  }

  onBeforeRunFiles(): void {
    this.#loadMs = performance.now() - this.#loadStart;
    seen = this.#around;
  }

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    const { tests } = this.#job ?? {};
    if (this.#failed || (tests && !tests.includes(test.id))) test.mode = "skip";
    await super.onBeforeRunTask(test);
    this.#testStart = performance.now();
    seen = new Set();
  }

  override onAfterRunTask(test: RunnerTestCase): void {
    super.onAfterRunTask(test);
    this.#failed ||= test.result?.state === "fail" || problem !== undefined;
    this.#tests.push({ id: test.id, ms: performance.now() - this.#testStart, hits: [...seen] });
    seen = this.#around;
  }

  override async onAfterRunFiles(files: RunnerTestFile[]): Promise<void> {
    super.onAfterRunFiles(files);
    const job = this.#job;
    if (!job) return;
    // Background errors appear a moment later.
    await delay(1);
    const failure = failureIn(files[0]!) ?? problem;
    const learned = { loading: [...loaded], around: [...this.#around], tests: this.#tests, loadMs: this.#loadMs };
    report({ kind: "end", name: job.name, ...(failure && { failure }), ...(job.learn && { learned }) });
    active = -1;
  }
}
