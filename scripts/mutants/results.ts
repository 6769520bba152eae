// The result of each mutant, kept across runs and, if a test noticed it, in the repository; and the mutants that no test
// can notice.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hashOf, type MutantBuild, type NumberedMutant } from "./build.ts";

export interface Result {
  /** `undecided` if there was no time for every test that reaches it. */
  readonly state: "killed" | "survived" | "unreached" | "undecided";
  /** Digest of the function or class member. */
  readonly unit: string;
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
  /** The number of the occurrence, from 1, if the function contains the text several times. Default: all of them. */
  readonly nth?: number;
  readonly why: string;
}

/**
 * The results that a clone starts with, by file. Each function or class member has the digest of its mutants, and a letter
 * for each mutant: `k` if a test noticed it, otherwise `-`. A function keeps its letters as long as it doesn't change, even
 * if its file moves.
 */
type Record = { readonly [file: string]: string };

const recordFile: string = join(import.meta.dirname, "record.json");

function readRecord(): Record {
  return JSON.parse(readFileSync(recordFile, "utf8")) as Record;
}

/** The mutants of a file, by function or class member. */
function unitsOf(mutants: readonly NumberedMutant[]): NumberedMutant[][] {
  return [...Map.groupBy(mutants, ({ scope, unit }) => `${scope.split(".").slice(0, 2).join(".")} ${unit}`).values()];
}

function digestOf(mutants: readonly NumberedMutant[]): string {
  const texts = mutants.map(({ scope, from, to }) => `${scope}: ${from} → ${to}`);
  return hashOf([mutants[0]!.unit, ...texts].join("\n"));
}

export class Results {
  readonly #path: string;
  readonly #build: MutantBuild;
  readonly #recorded: ReadonlyMap<string, Result>;
  #results: ReadonlyMap<string, Result>;
  readonly #own = new Map<string, Result>();

  constructor(path: string, build: MutantBuild) {
    this.#path = path;
    this.#build = build;
    this.#recorded = this.#recordedResults();
    this.#results = this.#read();
  }

  #recordedResults(): Map<string, Result> {
    const record = readRecord();
    const lettersOf = (line: string): (readonly [string, string])[] =>
      [...line.matchAll(/(\S+) (\S+)/g)].map(([, digest = "", letters = ""]) => [digest, letters] as const);
    const anywhere = new Map(Object.values(record).flatMap(lettersOf));
    const recorded = new Map<string, Result>();
    for (const [file, mutants] of Map.groupBy(this.#build.mutants, (mutant) => mutant.file)) {
      const here = new Map(lettersOf(record[file] ?? ""));
      for (const group of unitsOf(mutants)) {
        const digest = digestOf(group);
        const letters = here.get(digest) ?? anywhere.get(digest) ?? "";
        for (const [index, { key, unit }] of group.entries()) {
          if (letters[index] === "k") recorded.set(key, { state: "killed", unit, tried: [] });
        }
      }
    }
    return recorded;
  }

  /** Writes the results of these files for future clones; the records of other files stay. */
  record(files: ReadonlySet<string>): void {
    const before = readRecord();
    const record: { [file: string]: string } = {};
    const letter = (mutant: NumberedMutant): string => (this.get(mutant)?.state === "killed" ? "k" : "-");
    for (const [file, mutants] of Map.groupBy(this.#build.mutants, (mutant) => mutant.file)) {
      const units = unitsOf(mutants).map((group) => `${digestOf(group)} ${group.map(letter).join("")}`);
      const line = files.has(file) ? units.join(" ") : before[file];
      if (line !== undefined) record[file] = line;
    }
    writeFileSync(recordFile, `${JSON.stringify(record, null, 2)}\n`);
  }

  #read(): Map<string, Result> {
    return new Map(existsSync(this.#path) ? Object.entries(JSON.parse(readFileSync(this.#path, "utf8"))) : []);
  }

  /** The result for a mutant of the current source. */
  get(mutant: NumberedMutant): Result | undefined {
    const known = this.#own.get(mutant.key) ?? this.#results.get(mutant.key);
    return known?.unit === mutant.unit ? known : this.#recorded.get(mutant.key);
  }

  set(mutant: NumberedMutant, result: Result): void {
    this.#own.set(mutant.key, result);
  }

  /** Merges into the file, because runs for other folders may write to it, too. */
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

/** The mutants that an entry refers to. */
export function namedBy(entry: Equivalent, build: MutantBuild): NumberedMutant[] {
  const named = build.mutants.filter(
    ({ file, scope, from, to }) => file === entry.file && scope === entry.in && from === entry.from && to === entry.to,
  );
  return entry.nth === undefined ? named : named.slice(entry.nth - 1, entry.nth);
}
