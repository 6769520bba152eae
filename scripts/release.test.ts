import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { releasedChangelog, sectionOf } from "./release/changelog.ts";
import { isNewer, isVersion } from "./release/versions.ts";

const SCRIPT = join(import.meta.dirname, "release.ts");
const OWNER = { repository: "https://github.com/example/ashlar", homepage: "https://ashlar.example" };
const CHANGELOG = `# Changelog

The format is Keep a Changelog.

## Unreleased

### Added

- A doctor.

## 0.1.0 - 2026-10-01

- The first version.
`;

test.for([
  ["0.1.0", "0.0.9", true],
  ["0.10.0", "0.9.9", true],
  ["1.0.0", "0.99.99", true],
  ["1.0.0", "1.0.0-rc.3", true],
  ["1.0.0-rc.1", "1.0.0", false],
  ["1.0.0-rc.10", "1.0.0-rc.9", true],
  ["1.0.0-beta.1", "1.0.0-alpha.7", true],
  ["1.0.0", "1.0.0", false],
  ["1.0.0", "1.0.1", false],
] as const)("%s comes after %s: %s", ([version, than, expected]) => {
  expect(isNewer(version, than)).toBe(expected);
});

test.for(["1", "1.2", "v1.2.3", "01.2.3", "1.2.3-beta", "1.2.3-nightly.1", "1.2.3 ", ""])(
  "%j is not a version",
  (text) => {
    expect(isVersion(text)).toBe(false);
  },
);

describe("the changelog", () => {
  test("the unreleased section becomes the version's section, and everything else stays", () => {
    const released = releasedChangelog(CHANGELOG, "0.2.0", "2026-11-25");
    expect(released).toBe(
      CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\nNothing yet.\n\n## 0.2.0 - 2026-11-25\n"),
    );
    expect(sectionOf(released, "0.2.0")).toBe("### Added\n\n- A doctor.");
    expect(sectionOf(released, "0.2")).toBe(null);
  });

  test("a previously prepared version only gets the new date", () => {
    const released = releasedChangelog(CHANGELOG, "0.2.0", "2026-11-25");
    expect(releasedChangelog(released, "0.2.0", "2026-11-30")).toBe(released.replace("2026-11-25", "2026-11-30"));
  });

  test.for([
    ["no section for what is unreleased", "# Changelog\n", "0.2.0", /no section "## Unreleased"/],
    ["nothing to release", CHANGELOG.replace(/### Added[^#]*/, ""), "0.2.0", /nothing to release/],
    ["entries that belong to a prepared version", CHANGELOG, "0.1.0", /Move the entries/],
  ] as const)("%s is refused", ([, text, version, message]) => {
    expect(() => releasedChangelog(text, version, "2026-11-25")).toThrow(message);
  });
});

/** A repository with two packages, and the changelog above. */
function repository(): string {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-release-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const packages = { "packages/ashlar": { version: "0.1.0" }, "packages/create-ashlar": { version: "0.1.0" } };
  for (const name of ["ashlar", "create-ashlar"]) {
    mkdirSync(join(folder, "packages", name), { recursive: true });
    writeFileSync(join(folder, "packages", name, "package.json"), JSON.stringify({ name, version: "0.1.0" }));
  }
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ packages }));
  writeFileSync(join(folder, "CHANGELOG.md"), CHANGELOG);
  git(folder, "init", "--quiet");
  git(folder, "add", "--all");
  git(folder, "commit", "--quiet", "--message", "Commit");
  return folder;
}

function git(folder: string, ...args: readonly string[]): string {
  const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"];
  const { status, stdout, stderr } = spawnSync("git", [...identity, ...args], { cwd: folder, encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout;
}

function release(folder: string, ...args: readonly string[]): readonly [status: number | null, output: string] {
  return runIn(folder, SCRIPT, args);
}

function runIn(folder: string, script: string, args: readonly string[]): readonly [number | null, string] {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { cwd: folder, encoding: "utf8" });
  return [status, stdout + stderr];
}

/** The script with an owner who has filled in the addresses. */
function ownedScript(): string {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-owned-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(import.meta.dirname, "release"), join(folder, "release"), { recursive: true });
  cpSync(SCRIPT, join(folder, "release.ts"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "owner.ts"), `export const OWNER = ${JSON.stringify(OWNER)};`);
  return join(folder, "release.ts");
}

describe("prepare", () => {
  test("sets the version of both packages and of the lock file, and dates the changelog", () => {
    const folder = repository();
    expect(release(folder, "prepare", "0.2.0")[0]).toBe(0);
    const read = (path: string) => JSON.parse(readFileSync(join(folder, path), "utf8"));
    const lock = read("package-lock.json").packages;
    expect([
      read("packages/ashlar/package.json").version,
      read("packages/create-ashlar/package.json").version,
      lock["packages/ashlar"].version,
      lock["packages/create-ashlar"].version,
    ]).toEqual(["0.2.0", "0.2.0", "0.2.0", "0.2.0"]);
    expect(readFileSync(join(folder, "CHANGELOG.md"), "utf8")).toMatch(/^## 0\.2\.0 - \d{4}-\d\d-\d\d$/m);
    expect(release(folder, "notes", "0.2.0")).toEqual([0, "### Added\n\n- A doctor.\n"]);
  });

  test.for([
    ["a text that is not a version", "next", /is not a version/],
    ["an older version", "0.0.9", /is newer than 0\.0\.9/],
    ["a version that is in the changelog, with other entries", "0.1.0", /Move the entries/],
  ] as const)("%s is refused, and nothing changes", ([, version, message]) => {
    const folder = repository();
    expect(release(folder, "prepare", version)).toEqual([1, expect.stringMatching(message)]);
    expect(git(folder, "status", "--porcelain")).toBe("");
  });

  test("uncommitted changes are refused", () => {
    const folder = repository();
    writeFileSync(join(folder, "CHANGELOG.md"), `${CHANGELOG}\n`);
    expect(release(folder, "prepare", "0.2.0")).toEqual([1, expect.stringContaining("uncommitted changes")]);
  });

  test("a version that is already tagged is refused", () => {
    const folder = repository();
    git(folder, "tag", "v0.2.0");
    expect(release(folder, "prepare", "0.2.0")).toEqual([1, expect.stringContaining("v0.2.0 is tagged already")]);
  });
});

test("check refuses a tag that doesn't match the packages, and lists everything that is missing", () => {
  const [status, output] = release(repository(), "check", "v0.3.0");
  expect(status).toBe(1);
  expect(output).toContain("packages/ashlar/package.json has version 0.1.0, not 0.3.0.");
  expect(output).toContain("packages/create-ashlar/package.json has version 0.1.0, not 0.3.0.");
  expect(output).toContain('CHANGELOG.md has no section "## 0.3.0 - <date>"');
  expect(output).toContain('packages/ashlar/package.json has no "repository".');
});

test("check accepts the result of prepare, once the owner's addresses are filled in", () => {
  const folder = repository();
  const script = ownedScript();
  expect(runIn(folder, script, ["prepare", "0.2.0"])[0]).toBe(0);
  expect(runIn(folder, script, ["check", "v0.2.0"])).toEqual([0, "v0.2.0 can be published.\n"]);
  for (const directory of ["packages/ashlar", "packages/create-ashlar"]) {
    expect(JSON.parse(readFileSync(join(folder, directory, "package.json"), "utf8"))).toMatchObject({
      version: "0.2.0",
      homepage: OWNER.homepage,
      repository: { type: "git", url: `git+${OWNER.repository}.git`, directory },
      bugs: `${OWNER.repository}/issues`,
    });
  }
});

test.for([[[]], [["prepare"]], [["publish", "0.2.0"]]])("%j prints the usage", ([args]) => {
  expect(release(repository(), ...args!)).toEqual([1, expect.stringContaining("Usage: node scripts/release.ts")]);
});
