import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../packages/ashlar/test/support/temporary-folder.ts";
import { problemsOf } from "./lock-platforms.ts";

const SCRIPT = join(import.meta.dirname, "lock-platforms.ts");
const LOCK = join(import.meta.dirname, "..", "package-lock.json");

interface Lock {
  packages: Record<string, { readonly os?: readonly string[]; readonly optional?: boolean }>;
}

/** A repository whose only commit has a copy of the lock file. */
function repository(): { readonly folder: string; readonly lock: string } {
  const folder = folderWith({});
  const lock = join(folder, "package-lock.json");
  cpSync(LOCK, lock);
  const author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"];
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    [...author, "commit", "-q", "-m", "Lock"],
  ]) {
    expect(spawnSync("git", args, { cwd: folder, encoding: "utf8" })).toMatchObject({ status: 0 });
  }
  return { folder, lock };
}

/** Leaves the entries of other platforms out, as an installation on one platform does; returns their names. */
function dropPlatforms(lock: string): string[] {
  const content = JSON.parse(readFileSync(lock, "utf8")) as Lock;
  const dropped = Object.keys(content.packages).filter((path) => {
    const { os, optional } = content.packages[path]!;
    return optional === true && os !== undefined && !os.includes("linux");
  });
  for (const path of dropped) delete content.packages[path];
  writeFileSync(lock, `${JSON.stringify(content, null, 2)}\n`);
  return dropped.map((path) => path.replace(/^node_modules\//, ""));
}

function run(folder: string, ...args: string[]): { status: number | null; stdout: string; stderr: string } {
  // A registry that doesn't respond: what the last commit has is not requested.
  const env = { ...process.env, npm_config_registry: "http://127.0.0.1:9/", npm_config_fetch_retries: "0" };
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

test("entries of other platforms that an installation dropped are reported, and restored from the last commit", () => {
  const { folder, lock } = repository();
  expect(run(folder)).toEqual({ status: 0, stdout: "", stderr: "" });
  const dropped = dropPlatforms(lock);
  expect(dropped.length).toBeGreaterThan(50);

  const check = run(folder);
  expect(check.status).toBe(1);
  const reported = check.stderr.match(/^\S+(?=, which \S+ depends on, has no entry\.$)/gm);
  expect(reported?.toSorted()).toEqual(dropped.toSorted());
  expect(check.stderr).toMatch(/\nRun: npm run lock\n$/);

  const restored = run(folder, "--restore");
  expect([restored.status, restored.stderr]).toEqual([0, ""]);
  expect(restored.stdout.match(/^Restored \S+ \(last commit\)\.$/gm)).toHaveLength(dropped.length);
  expect(readFileSync(lock, "utf8")).toBe(readFileSync(LOCK, "utf8"));
});

test("entries that can be restored from nowhere are still reported", () => {
  const { folder, lock } = repository();
  const content = JSON.parse(readFileSync(lock, "utf8")) as { packages: Record<string, object> };
  content.packages[""] = { ...content.packages[""], optionalDependencies: { "@example/nowhere": "1.0.0" } };
  writeFileSync(lock, JSON.stringify(content));
  const { status, stderr } = run(folder, "--restore");
  expect([status, stderr]).toEqual([
    1,
    "@example/nowhere, which package.json depends on, has no entry.\nRun: npm run lock\n",
  ]);
});

test("entries without an integrity, and with a download URL, are reported", () => {
  const entry = { version: "1.0.0", integrity: "sha512-AA==" };
  const entries = {
    "": {},
    "node_modules/fine": entry,
    "node_modules/@biomejs/cli-other": { version: "1.0.0" },
    "node_modules/linked": { resolved: "packages/linked", link: true },
    "node_modules/unproven": { version: "1.0.0" },
    "node_modules/fetched": { ...entry, resolved: "https://registry.example/fetched-1.0.0.tgz" },
  };
  expect(problemsOf(entries)).toEqual([
    "node_modules/unproven has no integrity.",
    "node_modules/fetched contains its download URL. Set omit-lockfile-registry-resolved.",
  ]);
});
