// What came of each mutant, kept from run to run, and the mutants that no test can notice.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MutantBuild, NumberedMutant } from "./build.ts";

export interface Result {
  /** `undecided` where there was no time for every test that reaches it. */
  readonly state: "killed" | "survived" | "unreached" | "undecided";
  /** Digest of the source. */
  readonly source: string;
  /** Digests of the test files that did not notice. */
  readonly tried: readonly string[];
  /** The test that noticed and how. */
  readonly by?: string;
}

/** A mutant that behaves like the original, or that tests of this kind cannot reach. */
export interface Equivalent {
  readonly file: string;
  readonly in: string;
  readonly from: string;
  readonly to: string;
  /** Which one is meant, from 1, where the function has the text several times; all of them unless given. */
  readonly nth?: number;
  readonly why: string;
}

export class Results {
  readonly #path: string;
  #results: ReadonlyMap<string, Result>;
  readonly #own = new Map<string, Result>();

  constructor(path: string) {
    this.#path = path;
    this.#results = this.#read();
  }

  #read(): Map<string, Result> {
    return new Map(existsSync(this.#path) ? Object.entries(JSON.parse(readFileSync(this.#path, "utf8"))) : []);
  }

  get(mutant: NumberedMutant): Result | undefined {
    return this.#own.get(mutant.key) ?? this.#results.get(mutant.key);
  }

  set(mutant: NumberedMutant, result: Result): void {
    this.#own.set(mutant.key, result);
  }

  /** Adds to the file, which other runs, of other folders, may write as well. */
  save(): void {
    this.#results = new Map([...this.#read(), ...this.#own]);
    writeFileSync(`${this.#path}.${process.pid}`, JSON.stringify(Object.fromEntries(this.#results), null, 1));
    renameSync(`${this.#path}.${process.pid}`, this.#path);
  }
}

export const equivalentsFile: string = join(import.meta.dirname, "equivalents.json");

export function readEquivalents(): Equivalent[] {
  return JSON.parse(readFileSync(equivalentsFile, "utf8")) as Equivalent[];
}

/** The mutants that an entry names. */
export function namedBy(entry: Equivalent, build: MutantBuild): NumberedMutant[] {
  const named = build.mutants.filter(
    ({ file, scope, from, to }) => file === entry.file && scope === entry.in && from === entry.from && to === entry.to,
  );
  return entry.nth === undefined ? named : named.slice(entry.nth - 1, entry.nth);
}
