import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { problemsOf } from "../../../../scripts/lock-platforms.ts";

const LOCK = join(import.meta.dirname, "../../../../package-lock.json");
const { packages } = JSON.parse(readFileSync(LOCK, "utf8")) as { packages: Parameters<typeof problemsOf>[0] };

test("the lock file has the packages of every platform", () => {
  expect(problemsOf(packages)).toEqual([]);
});

test("a package that npm dropped, a missing integrity and a download URL are reported", () => {
  const { "node_modules/@rolldown/binding-win32-x64-msvc": _, ...entries } = packages;
  entries["node_modules/kysely"] = { version: "1.0.0", resolved: "https://registry.example/kysely.tgz" };
  expect(problemsOf(entries)).toEqual([
    "@rolldown/binding-win32-x64-msvc, which node_modules/rolldown depends on, has no entry.",
    "node_modules/kysely has no integrity.",
    "node_modules/kysely contains its download URL. Set omit-lockfile-registry-resolved.",
  ]);
});
