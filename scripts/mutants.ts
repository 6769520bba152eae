// Changes the sources in thousands of small ways and reports which changes no test notices: `npm run mutants`.
//
//   --only PATH        a folder or file in packages/ashlar/src, including other folders; may be repeated
//   --since REF        only lines that differ from this commit
//   --tests PATH       run only the tests in this folder or file in packages/ashlar
//   --seconds N        time limit per mutant and run; the next run continues with the remaining tests
//   --keep-reach       reuse what earlier runs learned about which tests reach what, even if files have changed
//   --again            retry survivors, even if neither they nor their tests have changed
//   --list WHICH       show the survivors of earlier runs, or also undecided mutants, without running anything
//   --record           write the mutants known to be killed to scripts/mutants/record.json

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { constants } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { MutantBuild, type NumberedMutant, sources } from "./mutants/build.ts";
import { Kinship } from "./mutants/kinship.ts";
import { Lane, type Outcome } from "./mutants/lane.ts";
import { type Candidate, isBeside, Reach } from "./mutants/reach.ts";
import { namedBy, type Result, Results, readEquivalents } from "./mutants/results.ts";
import type { Job } from "./mutants/test-runner.ts";

/** The folders that are mutated by default. */
const FOLDERS = ["session", "auth", "api", "security", "throttle", "database"];
/** Runs in threads, which load the original file. */
const IN_THREADS = ["security/password/hashing-worker.ts"];
/** These tests start processes, which load the original sources. */
const ELSEWHERE = ["packages/create-ashlar/**", ...["browser", "ci", "cli", "documentation"].map(ofTests)];
const JOBS_AT_ONCE = 40;
/** How many mutants of a source to try with a test file that hasn't noticed any of them yet. */
const UNTRIED_AT_ONCE = 3;
const SHORTEST_LIMIT_MS = 30_000;
const LIMIT_FACTOR = 6;
/** The cost of a job in addition to its tests. */
const MS_PER_JOB = 500;
/** The value of a test file that shares no rare word with a mutant; a file that has all of them is worth 1 more. */
const LEAST_RELATED = 0.05;

function ofTests(folder: string): string {
  return `packages/ashlar/test/${folder}/**`;
}

const { values: options } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: FOLDERS },
    since: { type: "string" },
    tests: { type: "string", multiple: true },
    seconds: { type: "string", default: "Infinity" },
    "keep-reach": { type: "boolean", default: false },
    again: { type: "boolean", default: false },
    list: { type: "string" },
    record: { type: "boolean", default: false },
  },
});

const root = join(import.meta.dirname, "..");
const folder = join(root, "node_modules/.cache/ashlar-mutation");
mkdirSync(folder, { recursive: true });
const folders = new Set([...FOLDERS, ...options.only.map((path) => path.split("/")[0]!)]);
const build = new MutantBuild([...folders], IN_THREADS);
const results = new Results(join(folder, "results.json"), build);
const reach = new Reach(join(folder, "reach.json"), build);
const kinship = new Kinship();

function say(line: string): void {
  console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
}

/** The lines of each source that differ from a commit. */
function changedLines(since: string): Map<string, Set<number>> {
  const diff = execFileSync("git", ["diff", "-U0", "--no-color", since, "--", sources], {
    cwd: root,
    encoding: "utf8",
  });
  const changed = new Map<string, Set<number>>();
  let lines = new Set<number>();
  for (const line of diff.split("\n")) {
    const file = /^\+\+\+ b\/(.+)$/.exec(line)?.[1];
    if (file) {
      lines = new Set();
      changed.set(relative(sources, join(root, file)), lines);
    }
    const [, first, count = "1"] = /^@@ \S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    for (let offset = 0; first && offset < Number(count); offset++) lines.add(Number(first) + offset);
  }
  return changed;
}

function chosen(): NumberedMutant[] {
  const within = build.mutants.filter(({ file }) => isUnder(file, options.only));
  if (options.since === undefined) return within;
  const changed = changedLines(options.since);
  return within.filter(({ file, line }) => changed.get(file)?.has(line));
}

function shown({ file, line, scope, from, to }: NumberedMutant): string {
  const short = (text: string): string => (text.length > 160 ? `${text.slice(0, 157)}...` : text).replaceAll("\n", "⏎");
  return `${file}:${line} ${scope}\n    ${short(from)}\n    → ${short(to) || "(left out)"}`;
}

const byFile = (a: NumberedMutant, b: NumberedMutant): number => a.number - b.number;
const equivalents = readEquivalents();
const equivalent = new Set(equivalents.flatMap((entry) => namedBy(entry, build)));

function isUndecided(mutant: NumberedMutant): boolean {
  return (results.get(mutant)?.state ?? "undecided") === "undecided";
}

function survivors(mutants: readonly NumberedMutant[]): NumberedMutant[] {
  return mutants.filter((mutant) => {
    const result = results.get(mutant);
    return (result?.state === "survived" || result?.state === "unreached") && !equivalent.has(mutant);
  });
}

function summary(mutants: readonly NumberedMutant[]): void {
  for (const [name, group] of Object.entries(Object.groupBy(mutants, ({ file }) => file.split("/")[0]!))) {
    const count = (state: string): number => group!.filter((mutant) => results.get(mutant)?.state === state).length;
    const undecided = group!.filter((mutant) => isUndecided(mutant) && !equivalent.has(mutant)).length;
    say(
      `${name}: ${group!.length} mutants, ${count("killed")} killed, ` +
        `${group!.filter((mutant) => equivalent.has(mutant)).length} listed as equivalent, ` +
        `${survivors(group!).length} surviving (${count("unreached")} of all not reached by any test), ${undecided} undecided`,
    );
  }
}

/** The results so far of a test file with one source's mutants. */
interface Experience {
  noticed: number;
  missed: number;
}

/** By source and test file, because the same tests usually notice a source's mutants. */
const experiences = new Map<string, Experience>();

function experience(source: string, test: string): Experience {
  const key = `${source} ${test}`;
  let known = experiences.get(key);
  if (!known) {
    known = isBeside(join(root, test), source) ? { noticed: 2, missed: 0 } : { noticed: 0, missed: 0 };
    experiences.set(key, known);
  }
  return known;
}

/** The expected time until a test of this file notices the mutant. */
function weight(mutant: NumberedMutant, { file, ms }: Candidate): number {
  const { noticed, missed } = experience(mutant.file, relative(root, file));
  const related = LEAST_RELATED + kinship.of(mutant, file);
  return ((ms + MS_PER_JOB) * (noticed + missed + 10)) / (noticed + related);
}

/** Moves the most promising test to the front. */
function choose({ mutant, left }: Open): void {
  const weights = left.map((candidate) => weight(mutant, candidate));
  const best = weights.indexOf(Math.min(...weights));
  left.unshift(...left.splice(best, 1));
}

/**
 * The most promising mutants and tests. A batch has few test files, because each is checked at its end, and only a few
 * mutants of a source for a test file that hasn't noticed any of them yet.
 */
function nextBatch(open: readonly Open[]): Open[] {
  for (const item of open) choose(item);
  const fileOf = ({ left: [candidate] }: Open): string => candidate!.file;
  const sorted = open
    .map((item) => ({ item, expected: weight(item.mutant, item.left[0]!) }))
    .sort((a, b) => a.expected - b.expected || a.item.mutant.number - b.item.mutant.number)
    .map(({ item }) => item);
  const tries = new Map<string, number>();
  const isWorthwhile = (item: Open): boolean => {
    const test = relative(root, fileOf(item));
    const key = `${item.mutant.file} ${test}`;
    const count = (tries.get(key) ?? 0) + 1;
    tries.set(key, count);
    return count <= UNTRIED_AT_ONCE || experience(item.mutant.file, test).noticed > 0;
  };
  const batch: Open[] = [];
  for (const [, items] of Map.groupBy(sorted, fileOf)) {
    batch.push(...items.filter(isWorthwhile).slice(0, JOBS_AT_ONCE - batch.length));
    if (batch.length >= JOBS_AT_ONCE) break;
  }
  return batch;
}

/** The tests that fit in the time limit, the most promising first. */
function affordable(mutant: NumberedMutant, candidates: readonly Candidate[]): Candidate[] {
  const budget = Number(options.seconds) * 1000;
  let spent = 0;
  return candidates
    .toSorted((a, b) => weight(mutant, a) - weight(mutant, b))
    .filter((candidate, index) => {
      spent += candidate.ms;
      return index === 0 || spent <= budget;
    });
}

/** A mutant in progress, and its result in case none of the remaining tests notices it. */
interface Open {
  readonly mutant: NumberedMutant;
  readonly tried: string[];
  readonly left: Candidate[];
  readonly otherwise: "survived" | "undecided";
}

function isUnder(path: string, paths: readonly string[]): boolean {
  return paths.some((each) => path === each || path.startsWith(`${each.replace(/\/$/, "")}/`));
}

/** Whether to run the tests of a file. */
function isAsked(file: string): boolean {
  return options.tests === undefined || isUnder(relative(join(sources, ".."), file), options.tests);
}

function limitFor(ms: number): number {
  return Math.max(SHORTEST_LIMIT_MS, ms * LIMIT_FACTOR);
}

function jobFor({ mutant, left: [candidate] }: Open): Job {
  const { file, tests, ms } = candidate!;
  return { name: String(mutant.number), file, mutant: mutant.number, limitMs: limitFor(ms), ...(tests && { tests }) };
}

function decide({ mutant, tried }: Open, state: Result["state"], by?: string): void {
  results.set(mutant, { state, unit: mutant.unit, tried, ...(by !== undefined && { by }) });
}

/** Moves on to the next test. A test that failed for another reason than the mutant doesn't count as tried. */
function goOn(item: Open, isTried: boolean): Open[] {
  const { file } = item.left.shift()!;
  if (isTried) {
    item.tried.push(reach.hash(file));
    experience(item.mutant.file, relative(root, file)).missed++;
  }
  const otherwise = isTried ? item.otherwise : "undecided";
  // If the run ends here, the next one continues from here.
  decide(item, item.left.length > 0 ? "undecided" : otherwise);
  return item.left.length > 0 ? [{ ...item, otherwise }] : [];
}

function isLate({ state, failure }: Outcome): boolean {
  return state !== "failed" || /timed out in \d+ ?ms/.test(failure!);
}

/** Runs one batch and returns the mutants to try with other tests, and those to try again on their own. */
async function attempt(lane: Lane, batch: readonly Open[]): Promise<{ open: Open[]; unsure: Open[] }> {
  const jobs = batch.map(jobFor);
  const files = new Set(jobs.map(({ file }) => file));
  // A failure only counts if the same tests still pass in this process, at the end, without a mutant.
  const controls = [...files].map((file): Job => {
    const own = jobs.filter((job) => job.file === file);
    const tests = own.every((job) => job.tests) ? [...new Set(own.flatMap((job) => job.tests!))] : undefined;
    const limitMs = Math.max(...own.map((job) => job.limitMs)) * 2;
    return { name: `last ${file}`, file, mutant: -1, limitMs, ...(tests && { tests }) };
  });
  const outcomes = new Map((await lane.run([...jobs, ...controls])).map((outcome) => [outcome.job, outcome]));
  const open: Open[] = [];
  const unsure: Open[] = [];
  for (const item of batch) {
    const [candidate] = item.left;
    const outcome = outcomes.get(String(item.mutant.number))!;
    const last = outcomes.get(`last ${candidate!.file}`);
    const where = relative(root, candidate!.file);
    const noticed = outcome.state === "failed" ? outcome.failure?.slice(0, 200) : outcome.state;
    const doubtful = last?.state === "failed";
    const isUnchecked = outcome.state === "failed" && last?.state === "unstarted" && batch.length > 1;
    if (outcome.state === "unstarted" || isUnchecked) open.push(item);
    else if (outcome.state === "passed") open.push(...goOn(item, true));
    // On a busy machine, a test or a process may time out for other reasons.
    else if (batch.length > 1 && (doubtful || isLate(outcome))) unsure.push(item);
    else if (doubtful) open.push(...goOn(item, false));
    else {
      experience(item.mutant.file, where).noticed++;
      decide(item, "killed", `${where}: ${noticed}`);
    }
  }
  results.save();
  return { open, unsure };
}

async function run(mutants: readonly NumberedMutant[]): Promise<void> {
  const lane = await Lane.open(build, ELSEWHERE);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      results.save();
      lane.abandon();
      process.exit(128 + constants.signals[signal]);
    });
  }
  try {
    await reach.learn(lane, lane.files().filter(isAsked), options["keep-reach"], say);
    for (const file of reach.failing) say(`skipped, because it fails without a mutant: ${relative(root, file)}`);
    for (const mutant of build.mutants) {
      const by = results.get(mutant)?.by?.split(": ")[0];
      if (by !== undefined) experience(mutant.file, by).noticed++;
    }
    const candidates = reach.candidates(isAsked);
    kinship.read(lane.files());
    let open: Open[] = [];
    for (const mutant of mutants) {
      const known = results.get(mutant);
      if (known?.state === "killed") continue;
      const tried = options.again ? [] : [...(known?.tried ?? [])];
      const all = candidates.get(mutant.number) ?? [];
      const untried = all.filter(({ file }) => !tried.includes(reach.hash(file)));
      const left = affordable(mutant, untried);
      const item: Open = { mutant, tried, left, otherwise: left.length < untried.length ? "undecided" : "survived" };
      if (left.length > 0) open.push(item);
      else if (!known) decide(item, "unreached");
    }
    while (open.length > 0) {
      // The equivalent ones come last: if one of them is killed after all, it isn't equivalent.
      const unlisted = open.filter(({ mutant }) => !equivalent.has(mutant));
      say(
        `${unlisted.length} of ${mutants.length} mutants and ${open.length - unlisted.length} listed as equivalent are open, ` +
          `${survivors(mutants).length} survived so far`,
      );
      const batch = nextBatch(unlisted.length > 0 ? unlisted : open);
      const { open: again, unsure } = await attempt(lane, batch);
      for (const item of unsure) again.push(...(await attempt(lane, [item])).open);
      const attempted = new Set(batch);
      open = [...open.filter((item) => !attempted.has(item)), ...again];
    }
  } finally {
    results.save();
    await lane.close();
  }
}

const mutants = chosen();
if (mutants.length === 0) say("there is nothing to mutate in the selection");
else if (options.list === undefined) await run(mutants);
if (options.record) results.record(new Set(mutants.map(({ file }) => file)));
const left = survivors(mutants).sort(byFile);
for (const mutant of left) console.log(`${results.get(mutant)!.state} ${shown(mutant)}`);
if (options.list === "undecided") {
  const undecided = mutants.filter((mutant) => isUndecided(mutant) && !equivalent.has(mutant)).sort(byFile);
  for (const mutant of undecided) {
    console.log(`undecided after ${results.get(mutant)?.tried.length ?? 0} test files: ${shown(mutant)}`);
  }
}
summary(mutants);

const stale = equivalents.filter((entry) => {
  const named = namedBy(entry, build);
  return named.length === 0 || named.some((mutant) => results.get(mutant)?.state === "killed");
});
for (const entry of stale) {
  console.error(
    `equivalents.json: ${entry.file} ${entry.in}: ${entry.from} → ${entry.to} is killed, or no longer exists.`,
  );
}
process.exitCode = left.length + stale.length > 0 ? 1 : 0;
