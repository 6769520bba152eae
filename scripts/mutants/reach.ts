// Which tests reach which mutants, learned from one run of every test file and kept until a file involved changes.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { hashOf, type MutantBuild } from "./build.ts";
import type { Lane } from "./lane.ts";
import type { Job, Learned } from "./test-runner.ts";

interface KeptReach extends Learned {
  readonly hash: string;
  /** Digests of the sources that the file reached, at that time. */
  readonly sources: Readonly<Record<string, string>>;
}

interface KeptFile {
  /** The keys of the mutants, by their numbers at that time. */
  readonly keys: readonly string[];
  readonly files: Readonly<Record<string, KeptReach>>;
}

/** A test file that may notice a mutant. */
export interface Candidate {
  readonly file: string;
  /** The tests that reach the mutant; all tests of the file if missing. */
  readonly tests?: readonly string[];
  readonly ms: number;
}

/** Whether a test file is next to a source. */
export function isBeside(file: string, source: string): boolean {
  return file.endsWith(`/${source.replace(/\.ts$/, ".test.ts")}`);
}

const FILES_AT_ONCE = 12;
const LEARNING_LIMIT_MS = 300_000;

export class Reach {
  readonly #path: string;
  readonly #build: MutantBuild;
  readonly #files = new Map<string, KeptReach>();
  readonly #learned = new Set<string>();
  /** Test files that fail without any mutant. */
  readonly failing: string[] = [];

  constructor(path: string, build: MutantBuild) {
    this.#path = path;
    this.#build = build;
    for (const [file, kept] of this.#read()) this.#files.set(file, kept);
  }

  /** Reads the file, with the current numbers of the mutants. */
  #read(): Map<string, KeptReach> {
    if (!existsSync(this.#path)) return new Map();
    const { keys, files } = JSON.parse(readFileSync(this.#path, "utf8")) as KeptFile;
    const numbers = new Map(this.#build.mutants.map(({ key, number }) => [key, number]));
    const translated = keys.map((key) => numbers.get(key));
    const translate = (hits: readonly number[]): number[] => hits.flatMap((hit) => translated[hit] ?? []);
    const read = Object.entries(files)
      .filter(([file]) => existsSync(file))
      .map(([file, kept]): [string, KeptReach] => {
        const tests = kept.tests.map((test) => ({ ...test, hits: translate(test.hits) }));
        return [file, { ...kept, tests, loading: translate(kept.loading), around: translate(kept.around) }];
      });
    return new Map(read);
  }

  #isCurrent(file: string): boolean {
    const kept = this.#files.get(file);
    if (kept?.hash !== hashOf(readFileSync(file, "utf8"))) return false;
    return Object.entries(kept.sources).every(([source, hash]) => this.#build.hash(source) === hash);
  }

  /** Merges into the file, because other runs may write to it, too. */
  #save(): void {
    const kept: KeptFile = {
      keys: this.#build.mutants.map(({ key }) => key),
      files: Object.fromEntries([...this.#read(), ...[...this.#files].filter(([file]) => this.#learned.has(file))]),
    };
    writeFileSync(`${this.#path}.${process.pid}`, JSON.stringify(kept));
    renameSync(`${this.#path}.${process.pid}`, this.#path);
  }

  /** Runs the test files that have changed, or whose sources have; with `keep`, only those that were never run. */
  async learn(lane: Lane, asked: readonly string[], keep: boolean, say: (line: string) => void): Promise<void> {
    const files = asked.filter((file) => (keep ? !this.#files.has(file) : !this.#isCurrent(file)));
    const failed: string[] = [];
    for (let from = 0; from < files.length; from += FILES_AT_ONCE) {
      say(`learning what the tests reach: ${from} of ${files.length} files`);
      failed.push(...(await this.#learn(lane, files.slice(from, from + FILES_AT_ONCE))));
      this.#save();
    }
    // A file that fails among others may pass in its own process.
    for (const file of failed) {
      const stillFailed = await this.#learn(lane, [file]);
      for (const name of stillFailed) this.#files.delete(name);
      this.failing.push(...stillFailed);
    }
    if (files.length > 0) this.#save();
  }

  async #learn(lane: Lane, files: readonly string[]): Promise<string[]> {
    const jobs = files.map((file): Job => ({ name: file, file, mutant: -1, limitMs: LEARNING_LIMIT_MS, learn: true }));
    const failed: string[] = [];
    for (const { job: file, state, learned } of await lane.run(jobs)) {
      if (state !== "passed" || !learned) {
        failed.push(file);
        continue;
      }
      const hits = [...learned.loading, ...learned.around, ...learned.tests.flatMap((test) => test.hits)];
      const reached = new Set(hits.map((hit) => this.#build.mutants[hit]!.file));
      const sources = Object.fromEntries([...reached].map((source) => [source, this.#build.hash(source)!]));
      this.#learned.add(file);
      this.#files.set(file, { ...learned, hash: hashOf(readFileSync(file, "utf8")), sources });
    }
    return failed;
  }

  /** The digest of a test file that was learned. */
  hash(file: string): string {
    return this.#files.get(file)?.hash ?? "";
  }

  /** The sources with more code that runs than their constants. */
  #active(): ReadonlySet<string> {
    const files = [...this.#files.values()];
    const loading = new Set(files.flatMap((file) => file.loading));
    const active = new Set<string>();
    for (const { tests, around } of files) {
      for (const hits of [around, ...tests.map((test) => test.hits)]) {
        for (const hit of hits) if (!loading.has(hit)) active.add(this.#build.mutants[hit]!.file);
      }
    }
    return active;
  }

  /** For every mutant, the test files that may notice it, cheapest first. */
  candidates(isAsked: (file: string) => boolean): Map<number, Candidate[]> {
    const found = new Map<number, Candidate[]>();
    const push = (number: number, candidate: Candidate): void => {
      const list = found.get(number);
      if (list) list.push(candidate);
      else found.set(number, [candidate]);
    };
    const { mutants } = this.#build;
    const loadedOnly = new Map<number, Candidate[]>();
    const active = this.#active();
    for (const [file, { tests, loading, around, loadMs }] of this.#files) {
      if (!isAsked(file)) continue;
      const all = tests.reduce((ms, test) => ms + test.ms, loadMs);
      const everywhere = new Set(around);
      for (const number of everywhere) push(number, { file, ms: all });
      const byMutant = new Map<number, { ids: string[]; ms: number }>();
      const bySource = new Map<string, { ids: Set<string>; ms: number }>();
      for (const { id, ms, hits } of tests) {
        for (const hit of hits) {
          const entry = byMutant.get(hit) ?? { ids: [], ms: loadMs };
          entry.ids.push(id);
          entry.ms += ms;
          byMutant.set(hit, entry);
        }
        for (const source of new Set(hits.map((hit) => mutants[hit]!.file))) {
          const entry = bySource.get(source) ?? { ids: new Set(), ms: loadMs };
          entry.ids.add(id);
          entry.ms += ms;
          bySource.set(source, entry);
        }
      }
      const loaded = new Set(loading);
      for (const [number, { ids, ms }] of byMutant) {
        if (!everywhere.has(number) && !loaded.has(number)) push(number, { file, tests: ids, ms });
      }
      const usedAround = new Set(around.map((hit) => mutants[hit]!.file));
      for (const number of loaded) {
        if (everywhere.has(number)) continue;
        // Which tests can notice a mutant that runs while the file loads? Those that use the same source, even if others
        // load it again; and in the test file next to it, all tests, because a test may only use a value that another
        // source derived from a constant.
        const source = mutants[number]!.file;
        const used = bySource.get(source);
        if (usedAround.has(source) || isBeside(file, source)) push(number, { file, ms: all });
        else if (used) push(number, { file, tests: [...used.ids], ms: used.ms });
        else loadedOnly.set(number, [...(loadedOnly.get(number) ?? []), { file, ms: all }]);
      }
    }
    for (const [number, list] of loadedOnly) {
      // A test that happens to load constants later than others isn't the only one that may notice.
      if (!found.has(number) || !active.has(mutants[number]!.file))
        for (const candidate of list) push(number, candidate);
    }
    for (const list of found.values()) list.sort((a, b) => a.ms - b.ms);
    return found;
  }
}
