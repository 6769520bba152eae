// npm drops the packages for other platforms from package-lock.json when it installs over a node_modules without them, and
// `npm ci` then fails on those platforms with "Missing … from lock file". This script finds missing packages. With
// --restore (`npm run lock`) it restores them from the last commit, or otherwise from the output of `npm view`.
//
// 31 entries, all of development tools, have no integrity: the registry they came from didn't have these builds. npm
// installs them without verification. `npm run lock -- --integrity` queries the registry again and adds the returned
// values.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { npmInvocation } from "../packages/create-ashlar/src/package-managers.ts";

interface Entry {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [member: string]: unknown;
}
type Entries = Record<string, Entry>;

/** In the current folder; npm runs the script in the repository's root. */
const FILE = "package-lock.json";
/** Packages that may lack an integrity, by prefix. */
const WITHOUT_INTEGRITY = ["@biomejs/cli-", "@oxc-parser/binding-", "@swc/core-"];

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** The folders where Node looks for a dependency of a package, nearest first. */
function placesOf(name: string, parent: string): string[] {
  const places: string[] = [];
  for (let folder = parent; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    places.push(`${folder === "" ? "" : `${folder}/`}node_modules/${name}`);
    if (folder === "" || !folder.includes("/node_modules/")) break;
  }
  return [...new Set([...places, `node_modules/${name}`])];
}

/** Whether an entry has the requested version. Dependencies on platform packages name an exact version. */
function fits(entry: Entry | undefined, range: string): boolean {
  return entry !== undefined && (!/^\d/.test(range) || entry.version === range);
}

/** Optional packages without an entry, each with the package that depends on it. */
function missingOf(entries: Entries): { name: string; range: string; parent: string }[] {
  return Object.entries(entries).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name, range]) => !placesOf(name, parent).some((place) => fits(entries[place], range)))
      .map(([name, range]) => ({ name, range, parent })),
  );
}

/** Packages from a registry that npm can't verify. */
function unprovenOf(entries: Entries): string[] {
  return Object.entries(entries).flatMap(([path, { integrity, link }]) =>
    path.includes("node_modules/") && link !== true && integrity === undefined ? [path] : [],
  );
}

/** A version's data from the registry; `null` if it doesn't exist there. */
function published(name: string, version: string): Entry | null {
  const fields = ["version", "dist.integrity", "cpu", "os", "libc", "license", "engines"];
  const { command, args } = npmInvocation(["view", `${name}@${version}`, ...fields, "--json"]);
  const { status, stdout } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0 || stdout.trim() === "") return null;
  // One object, or a list in order if a range has several versions.
  const newest = [JSON.parse(stdout) as Entry | Entry[]].flat().at(-1)!;
  const { "dist.integrity": integrity, cpu, os, libc, license, engines, ...told } = newest;
  const list = (value: unknown) => (value === undefined ? undefined : [value].flat());
  return {
    version: told.version ?? version,
    integrity: integrity as string,
    cpu: list(cpu),
    dev: true,
    libc: list(libc),
    license,
    optional: true,
    os: list(os),
    engines,
  };
}

function committed(): Entries {
  const { status, stdout } = spawnSync("git", ["show", `HEAD:./${FILE}`], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  return status === 0 ? (JSON.parse(stdout) as { packages: Entries }).packages : {};
}

function restore(lock: { packages: Entries }, asksForIntegrity: boolean): void {
  const before = committed();
  for (const { name, range, parent } of missingOf(lock.packages)) {
    const places = placesOf(name, parent);
    // Its former place, or the outermost one that no other version occupies.
    const place =
      places.find((one) => fits(before[one], range)) ??
      places.toReversed().find((one) => lock.packages[one] === undefined) ??
      `node_modules/${name}`;
    const isSame = before[place]?.version === range || before[parent]?.optionalDependencies?.[name] === range;
    const known = isSame ? before[place] : undefined;
    const found = known ?? published(name, range);
    if (found === null) continue;
    const { dev, ...entry } = found;
    lock.packages[place] = known ?? (lock.packages[parent]?.dev === true ? { ...entry, dev: true } : entry);
    console.log(`Restored ${name}@${found.version} (${known === undefined ? "registry" : "last commit"}).`);
  }
  for (const path of asksForIntegrity ? unprovenOf(lock.packages) : []) {
    const { version = "" } = lock.packages[path]!;
    const integrity = published(nameOf(path), version)?.integrity;
    if (integrity === undefined) continue;
    lock.packages[path] = { ...lock.packages[path], integrity };
    console.log(`Added the integrity of ${nameOf(path)}@${version}.`);
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => a.localeCompare(b, "en")));
  writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`);
}

/** Returns the problems of the lock file, one per line. */
export function problemsOf(entries: Entries): string[] {
  return [
    ...missingOf(entries).map(
      ({ name, parent }) => `${name}, which ${parent || "package.json"} depends on, has no entry.`,
    ),
    ...unprovenOf(entries)
      .filter((path) => !WITHOUT_INTEGRITY.some((prefix) => nameOf(path).startsWith(prefix)))
      .map((path) => `${path} has no integrity.`),
    // Every machine uses its configured registry.
    ...Object.entries(entries)
      .filter(([path, { resolved }]) => path.includes("node_modules/") && /^https?:/.test(resolved ?? ""))
      .map(([path]) => `${path} contains its download URL. Set omit-lockfile-registry-resolved.`),
  ];
}

if (import.meta.main) {
  const lock = JSON.parse(readFileSync(FILE, "utf8")) as { packages: Entries };
  if (process.argv.includes("--restore")) restore(lock, process.argv.includes("--integrity"));
  const problems = problemsOf(lock.packages);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) {
    console.error("Run: npm run lock");
    process.exitCode = 1;
  }
}
