import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../packages/ashlar/test/support/temporary-folder.ts";
import { changedFiles, fitting, reachedTests } from "./reached-tests.ts";

const SOURCE = "packages/ashlar/src";

/** A repository with sources, tests and a page. */
const FILES: Readonly<Record<string, string>> = {
  [`${SOURCE}/http/body.ts`]: "export const body = 1;",
  [`${SOURCE}/http/index.ts`]: 'export { body } from "./body.ts";',
  [`${SOURCE}/http/body.test.ts`]: 'import { test } from "vitest";\nimport {\n  body,\n} from "./body.ts";',
  [`${SOURCE}/http/shape.test.ts`]: 'import type { Shape } from "./body.ts";',
  [`${SOURCE}/public/http.ts`]: 'export * from "../http/index.ts";',
  [`${SOURCE}/mail/mail.test.ts`]: 'const { body } = await import("../http/index.ts");',
  "packages/ashlar/test/cli/whole.test.ts": 'import { body } from "ashlar/http";',
  "packages/ashlar/test/cli/page.test.ts": 'const PAGE = "docs/guides/mail.md";',
  "packages/ashlar/test/cli/stubs.test.ts": 'read("make/model.ts", {});',
  "packages/ashlar/stubs/make/model.ts.stub": "",
  [`${SOURCE}/cli/watch.ts`]: "export const watch = 1;",
  [`${SOURCE}/cli/main.ts`]: 'export { watch } from "./watch.ts";',
  [`${SOURCE}/security/worker.ts`]: "",
  [`${SOURCE}/security/threads.ts`]: 'const WORKER = new URL("worker.ts", import.meta.url);',
  [`${SOURCE}/security/threads.test.ts`]: 'import "./threads.ts";',
  "packages/ashlar/bin/command.js": 'const { main } = await import("../dist/cli.js");',
  "packages/ashlar/test/support/application.ts": 'export const COMMAND = join(PACKAGE, "bin/command.js");',
  "packages/ashlar/test/cli/served.test.ts": 'import { COMMAND } from "../support/application.ts";',
  "packages/ashlar/test/server/process.test.ts": 'const FRAMEWORK = builtModule("http");',
  "packages/ashlar/.generated-x/shop/tests/own.test.ts": 'import "../../../src/http/body.ts";',
  "docs/guides/mail.md": "",
};

const reached = (...changed: string[]): string[] =>
  reachedTests(folderWith(FILES), changed).map(({ file, distance }) => `${distance} ${file.replace(/^.*\//, "")}`);

test("tests that import a changed file directly come first, then indirect ones; type-only imports reach nothing", () => {
  expect(reached(`${SOURCE}/http/body.ts`)).toEqual([
    "1 body.test.ts",
    "2 mail.test.ts",
    "3 whole.test.ts",
    "3 process.test.ts",
  ]);
});

test("a test that has changed comes first", () => {
  expect(reached(`${SOURCE}/http/index.ts`, `${SOURCE}/http/shape.test.ts`)).toEqual([
    "0 shape.test.ts",
    "1 mail.test.ts",
    "2 whole.test.ts",
    "2 process.test.ts",
  ]);
});

test("files that processes load reach the tests that start them: commands, threads and modules of the built package", () => {
  expect(reached(`${SOURCE}/cli/watch.ts`)).toEqual(["4 served.test.ts"]);
  expect(reached(`${SOURCE}/security/worker.ts`)).toEqual(["2 threads.test.ts"]);
  expect(reached(`${SOURCE}/public/http.ts`)).toEqual(["1 whole.test.ts", "1 process.test.ts"]);
});

test("pages and stubs reach the tests that name them, and a file that no test names reaches none", () => {
  expect(reached("docs/guides/mail.md")).toEqual(["1 page.test.ts"]);
  expect(reached("packages/ashlar/stubs/make/model.ts.stub")).toEqual(["1 stubs.test.ts"]);
  expect(reached("LICENSE")).toEqual([]);
  const naming = Array.from({ length: 30 }, (_, index) => [`${SOURCE}/cli/${index}.test.ts`, 'read("package.json")']);
  expect(reachedTests(folderWith({ ...FILES, ...Object.fromEntries(naming) }), ["package.json"])).toEqual([]);
});

test("a file that was removed reaches the tests that still import it", () => {
  const root = folderWith(FILES);
  rmSync(join(root, `${SOURCE}/http/body.ts`));
  expect(reachedTests(root, [`${SOURCE}/http/body.ts`])[0]).toEqual({
    file: `${SOURCE}/http/body.test.ts`,
    distance: 1,
  });
});

test("the nearest that fit into the time are run, by how long they took before, and at least one", () => {
  const tests = ["packages/a/src/a", "packages/a/src/b", "packages/a/test/c", "packages/a/src/d"].map((name) => ({
    file: `${name}.test.ts`,
    distance: 1,
  }));
  expect(fitting(tests, 6, { "packages/a/src/b.test.ts": 5.8 })).toEqual(
    ["a", "d"].map((name) => `packages/a/src/${name}.test.ts`),
  );
  expect(fitting(tests, 20, {})).toEqual(tests.map(({ file }) => file));
  expect(fitting(tests, 0.1, {})).toEqual(["packages/a/src/a.test.ts"]);
});

test("the changes since a branch began are found: commits, edits, new and removed files, but not the other branch's", () => {
  const root = folderWith({ "kept.ts": "", "edited.ts": "", "removed.ts": "", ".gitignore": "ignored.ts\n" });
  const git = (...args: string[]): void => {
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@shop.example", ...args], {
      cwd: root,
      stdio: "ignore",
    });
  };
  const write = (path: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "new");
  };
  const commit = (message: string): void => {
    git("add", "--all");
    git("commit", "--message", message);
  };
  git("init", "--initial-branch=main");
  commit("Begin");
  git("checkout", "-b", "topic");
  write("committed.ts");
  commit("Add a file");
  git("checkout", "main");
  write("theirs.ts");
  commit("Add another");
  git("checkout", "topic");
  write("edited.ts");
  write("folder/new.ts");
  write("ignored.ts");
  rmSync(join(root, "removed.ts"));
  expect(changedFiles(root, "main").toSorted()).toEqual(["committed.ts", "edited.ts", "folder/new.ts", "removed.ts"]);
});
