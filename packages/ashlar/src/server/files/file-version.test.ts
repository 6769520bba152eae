import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { fileVersions } from "./file-version.ts";

test("the version is the beginning of the SHA-256 of the file's content", () => {
  const root = folderWith({ "a.css": "abc", "b.css": "abc", "c.css": "abd" });
  const versionOf = fileVersions();
  // The example "abc" in FIPS 180-4.
  expect(versionOf(join(root, "a.css"))).toBe("ba7816bf8f");
  expect(versionOf(join(root, "b.css"))).toBe("ba7816bf8f");
  expect(versionOf(join(root, "c.css"))).not.toBe("ba7816bf8f");
});

test("a file's version changes at once if its length or its modification time does", () => {
  const path = join(folderWith({ "a.css": "abc" }), "a.css");
  const versionOf = fileVersions();
  const first = versionOf(path);
  writeFileSync(path, "abcd");
  const second = versionOf(path);
  const time = statSync(path).mtime;
  writeFileSync(path, "abce");
  utimesSync(path, time, new Date(time.getTime() + 10_000));
  const third = versionOf(path);
  writeFileSync(path, "abcef");
  utimesSync(path, time, new Date(time.getTime() + 10_000));
  expect(new Set([first, second, third, versionOf(path)]).size).toBe(4);
});

test("a folder and a missing file have no version", () => {
  const root = folderWith({ "a.css": "abc" });
  const versionOf = fileVersions();
  mkdirSync(join(root, "folder"));
  expect([versionOf(join(root, "folder")), versionOf(join(root, "missing"))]).toEqual([null, null]);
  expect(versionOf(join(root, "a.css"))).not.toBeNull();
  rmSync(join(root, "a.css"));
  expect(versionOf(join(root, "a.css"))).toBeNull();
});

test("a file above the maximum size has no version", () => {
  const root = folderWith({ "a.css": "abc", "b.css": "abcd" });
  const versionOf = fileVersions(3);
  expect([versionOf(join(root, "a.css")), versionOf(join(root, "b.css"))]).toEqual(["ba7816bf8f", null]);
});
