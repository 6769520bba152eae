// Runs jobs in a Vitest process, one after the other, and kills it if it hangs.

import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVitest, type TestSpecification, type Vitest } from "vitest/node";
import type { MutantBuild } from "./build.ts";
import type { Job, Learned, Progress } from "./test-runner.ts";

export interface Outcome {
  readonly job: string;
  /** `unstarted` if the process ended before it reached the job. */
  readonly state: "passed" | "failed" | "hung" | "died" | "unstarted";
  readonly failure?: string;
  readonly learned?: Learned;
}

const POLL_MS = 250;
/** The prefix of a lane's temporary folder; the process id follows. */
const FOLDER = "ashlar-mutants-";
const root = join(import.meta.dirname, "../..");

function jobsFileIn(folder: string): string {
  return join(folder, "jobs.json");
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Removes the folders of lanes whose process was killed. */
function sweep(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = name.startsWith(FOLDER) ? Number(name.slice(FOLDER.length).split("-")[0]) : 0;
    if (pid > 0 && !isRunning(pid)) rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}

export class Lane {
  readonly #vitest: Vitest;
  readonly #folder: string;
  readonly #jobsFile: string;
  readonly #specifications: ReadonlyMap<string, TestSpecification>;

  private constructor(vitest: Vitest, folder: string, specifications: readonly TestSpecification[]) {
    this.#vitest = vitest;
    this.#folder = folder;
    this.#jobsFile = jobsFileIn(folder);
    this.#specifications = new Map(specifications.map((specification) => [specification.moduleId, specification]));
  }

  /** Starts Vitest with the mutants of a build. Files that killed tests leave behind are deleted with the lane. */
  static async open(build: MutantBuild, exclude: readonly string[]): Promise<Lane> {
    sweep();
    const folder = mkdtempSync(join(tmpdir(), `${FOLDER}${process.pid}-`));
    // Some tests start processes of another user.
    chmodSync(folder, 0o755);
    process.env.ASHLAR_MUTANTS = jobsFileIn(folder);
    process.env.TMPDIR = folder;
    const vitest = await createVitest(
      "test",
      {
        config: join(root, "vitest.config.ts"),
        root,
        watch: false,
        // A shared cache would return code with other mutant numbers.
        fsModuleCache: false,
        reporters: [{}],
        isolate: false,
        pool: "forks",
        maxWorkers: 1,
        fileParallelism: false,
        testTimeout: 20_000,
        hookTimeout: 15_000,
        exclude: ["**/node_modules/**", ...exclude],
        runner: join(import.meta.dirname, "test-runner.ts"),
      },
      { plugins: [build.plugin()] },
    );
    await vitest.standalone();
    return new Lane(vitest, folder, await vitest.globTestSpecifications());
  }

  /** Every test file. */
  files(): string[] {
    return [...this.#specifications.keys()].sort();
  }

  async close(): Promise<void> {
    await this.#vitest.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Ends at once: kills the test process and deletes all files. */
  abandon(): void {
    this.#kill();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }

  #kill(): void {
    const [first] = this.#progress();
    try {
      if (first?.kind === "process") process.kill(first.pid, "SIGKILL");
    } catch {
      // It has exited on its own.
    }
  }

  get #progressFile(): string {
    return `${this.#jobsFile}.progress`;
  }

  #progress(): Progress[] {
    if (!existsSync(this.#progressFile)) return [];
    const lines = readFileSync(this.#progressFile, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Progress);
  }

  /** Runs jobs for any files, with the jobs of each file together. */
  async run(jobs: readonly Job[]): Promise<Outcome[]> {
    const byFile = Object.values(Object.groupBy(jobs, ({ file }) => file)).map((group) => group!);
    writeFileSync(this.#jobsFile, JSON.stringify(byFile.flat()));
    writeFileSync(this.#progressFile, "");
    const places = byFile.flatMap((group) => {
      return Array<TestSpecification>(group.length).fill(this.#specifications.get(group[0]!.file)!);
    });
    const watch = this.#endHanging();
    try {
      await this.#vitest.runTestSpecifications(places);
    } catch {
      // Vitest reports a killed process as an error.
    } finally {
      clearInterval(watch.timer);
    }
    process.exitCode = 0;
    return this.#outcomes(jobs, watch.hung());
  }

  #endHanging(): { timer: NodeJS.Timeout; hung(): boolean } {
    let lines = 0;
    let since = performance.now();
    let hung = false;
    const timer = setInterval(() => {
      const progress = this.#progress();
      if (progress.length > lines) {
        lines = progress.length;
        since = performance.now();
      }
      const last = progress.at(-1);
      if (last?.kind !== "start" || performance.now() - since < last.limitMs) return;
      hung = true;
      this.#kill();
      clearInterval(timer);
    }, POLL_MS);
    return { timer, hung: () => hung };
  }

  #outcomes(jobs: readonly Job[], hung: boolean): Outcome[] {
    const ended = new Map<string, Outcome>();
    const started = new Set<string>();
    for (const progress of this.#progress()) {
      if (progress.kind === "start") started.add(progress.name);
      if (progress.kind !== "end") continue;
      const { name, failure, learned } = progress;
      const state = failure ? "failed" : "passed";
      ended.set(name, { job: name, state, ...(failure && { failure }), ...(learned && { learned }) });
    }
    return jobs.map(
      ({ name }) => ended.get(name) ?? { job: name, state: started.has(name) ? (hung ? "hung" : "died") : "unstarted" },
    );
  }
}
