import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { execute } from "../packages/ashlar/test/support/generated-application.ts";
import { folderWith } from "../packages/ashlar/test/support/temporary-folder.ts";
import { problemsOf } from "./lock-platforms.ts";

const SCRIPT = join(import.meta.dirname, "lock-platforms.ts");
const LOCK = join(import.meta.dirname, "..", "package-lock.json");

interface Lock {
  packages: Record<string, Parameters<typeof problemsOf>[0][string]>;
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
    return optional === true && Array.isArray(os) && !os.includes("linux");
  });
  for (const path of dropped) delete content.packages[path];
  writeFileSync(lock, `${JSON.stringify(content, null, 2)}\n`);
  return dropped.map((path) => path.replace(/^(?:.*\/)?node_modules\//, ""));
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
  // Several packages may depend on one.
  expect(new Set(reported)).toEqual(new Set(dropped));
  expect(check.stderr).toMatch(/\nRun: npm run lock\n$/);

  const restored = run(folder, "--restore");
  expect([restored.status, restored.stderr]).toEqual([0, ""]);
  const names = restored.stdout.matchAll(/^Restored (\S+)@\S+ \(last commit\)\.$/gm);
  expect(new Set([...names].map(([, name]) => name))).toEqual(new Set(dropped));
  expect(readFileSync(lock, "utf8")).toBe(readFileSync(LOCK, "utf8"));
});

test("entries that can be restored from nowhere are still reported", () => {
  const { folder, lock } = repository();
  const content = JSON.parse(readFileSync(lock, "utf8")) as Lock;
  content.packages[""] = { ...content.packages[""], optionalDependencies: { "@example/nowhere": "1.0.0" } };
  writeFileSync(lock, JSON.stringify(content));
  const { status, stderr } = run(folder, "--restore");
  expect([status, stderr]).toEqual([
    1,
    "@example/nowhere, which package.json depends on, has no entry.\nRun: npm run lock\n",
  ]);
});

test("an entry that the last commit lacks is restored from the registry, with the newest version of its range", async () => {
  const versions = Object.fromEntries(
    ["1.0.0", "1.2.0", "1.10.0", "2.0.0"].map((version) => [
      version,
      {
        version,
        os: ["aix"],
        license: "MIT",
        dist: { integrity: `sha512-${version}`, tarball: "" },
      },
    ]),
  );
  const server = createServer(({ url }, response) => {
    response.end(JSON.stringify({ name: url!.slice(1), "dist-tags": { latest: "2.0.0" }, versions }));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close().closeAllConnections());
  await once(server, "listening");
  const { folder, lock } = repository();
  const content = JSON.parse(readFileSync(lock, "utf8")) as Lock;
  content.packages["node_modules/parent"] = { integrity: "sha512-", optionalDependencies: { elsewhere: "^1.0.0" } };
  content.packages["node_modules/tool"] = {
    integrity: "sha512-",
    dev: true,
    optionalDependencies: { "elsewhere-too": "^1.0.0" },
  };
  writeFileSync(lock, JSON.stringify(content));
  const { port } = server.address() as AddressInfo;
  const environment = { npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_cache: join(folder, "cache") };
  const { code, output } = await execute(folder, process.execPath, [SCRIPT, "--restore"], environment);
  const restored = ["elsewhere", "elsewhere-too"].map((name) => `Restored ${name}@1.10.0 (registry).\n`).join("");
  expect([code, output]).toEqual([0, restored]);
  const { packages } = JSON.parse(readFileSync(lock, "utf8")) as Lock;
  const entry = { version: "1.10.0", integrity: "sha512-1.10.0", license: "MIT", optional: true, os: ["aix"] };
  expect(packages["node_modules/elsewhere"]).toEqual(entry);
  // Only a development tool needs it, so an installation without these must leave it out.
  expect(packages["node_modules/elsewhere-too"]).toEqual({ ...entry, dev: true });
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
