// The automated parts of a release. RELEASING.md has all of its steps.
//
//   node scripts/release.ts prepare 0.2.0   sets the version of both packages and dates the changelog; commits nothing
//   node scripts/release.ts check v0.2.0    refuses to publish a tag that doesn't match the packages
//   node scripts/release.ts notes 0.2.0     prints the version's changes
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OWNER } from "./owner.ts";
import { releasedChangelog, sectionOf } from "./release/changelog.ts";
import { isNewer, isVersion } from "./release/versions.ts";

/** The folder that the script runs in; npm runs it in the repository's. */
const root = process.cwd();
const PACKAGES = ["packages/ashlar", "packages/create-ashlar"];
const CHANGELOG = join(root, "CHANGELOG.md");
const LOCK = join(root, "package-lock.json");

type Manifest = Record<string, unknown> & { readonly version: string };

function readJson(path: string): Manifest {
  return JSON.parse(readFileSync(path, "utf8")) as Manifest;
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

function git(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr.trim()}`);
  return stdout.trim();
}

/** A package's manifest with a version, and with the owner's URLs that are known. */
function released(manifest: Manifest, version: string, directory: string): Manifest {
  const { repository, homepage } = OWNER;
  return {
    ...manifest,
    version,
    ...(homepage === "" ? {} : { homepage }),
    ...(repository === ""
      ? {}
      : { repository: { type: "git", url: `git+${repository}.git`, directory }, bugs: `${repository}/issues` }),
  };
}

function prepare(version: string): void {
  if (!isVersion(version)) throw new Error(`"${version}" is not a version. Write it as 0.2.0, or 0.2.0-beta.1.`);
  if (git("status", "--porcelain") !== "")
    throw new Error("There are uncommitted changes. Commit or stash them first.");
  if (git("tag", "--list", `v${version}`) !== "")
    throw new Error(`v${version} is tagged already. Choose the next version.`);
  for (const folder of PACKAGES) {
    const current = readJson(join(root, folder, "package.json")).version;
    if (current !== version && !isNewer(version, current)) {
      throw new Error(`${folder}/package.json has version ${current}, which is newer than ${version}.`);
    }
  }
  const date = new Date().toISOString().slice(0, 10);
  // The changelog comes first, because it is the only step that can fail.
  const changelog = releasedChangelog(readFileSync(CHANGELOG, "utf8"), version, date);
  const lock = readJson(LOCK) as unknown as { packages: Record<string, { version?: string }> };
  for (const folder of PACKAGES) {
    const path = join(root, folder, "package.json");
    writeJson(path, released(readJson(path), version, folder));
    lock.packages[folder]!.version = version;
  }
  writeJson(LOCK, lock);
  writeFileSync(CHANGELOG, changelog);
  console.log(
    `Both packages have version ${version}, and CHANGELOG.md says what it changes. Nothing is committed yet.`,
  );
  for (const name of missingAddresses()) console.log(`Still missing in scripts/owner.ts: ${name}.`);
}

function missingAddresses(): string[] {
  return Object.entries(OWNER).flatMap(([name, address]) => (address === "" ? [name] : []));
}

function check(tag: string): void {
  const problems = missingAddresses().map(
    (name) => `scripts/owner.ts: ${name} is empty. Only the owner can fill it in.`,
  );
  const version = tag.replace(/^v/, "");
  for (const folder of PACKAGES) {
    const manifest = readJson(join(root, folder, "package.json"));
    if (`v${manifest.version}` !== tag)
      problems.push(`${folder}/package.json has version ${manifest.version}, not ${version}.`);
    for (const field of ["repository", "homepage", "bugs"]) {
      if (manifest[field] === undefined)
        problems.push(`${folder}/package.json has no "${field}". Run release.ts prepare.`);
    }
  }
  if (sectionOf(readFileSync(CHANGELOG, "utf8"), version) === null) {
    problems.push(`CHANGELOG.md has no section "## ${version} - <date>". Run release.ts prepare.`);
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
  console.log(`${tag} can be published.`);
}

function notes(version: string): void {
  const section = sectionOf(readFileSync(CHANGELOG, "utf8"), version);
  if (section === null) throw new Error(`CHANGELOG.md has no section "## ${version} - <date>".`);
  console.log(section);
}

const STEPS: Readonly<Record<string, (argument: string) => void>> = { prepare, check, notes };
const [step = "", argument = ""] = process.argv.slice(2);
try {
  const run = STEPS[step];
  if (run === undefined || argument === "")
    throw new Error("Usage: node scripts/release.ts prepare|check|notes <version>");
  run(argument);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
