import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { execute } from "../support/generated-application.ts";
import { folderWith } from "../support/temporary-folder.ts";

const REPOSITORY = join(import.meta.dirname, "../../../..");

/**
 * The last line that .ci/run prints for a repository with these tests, and its exit code.
 *
 * @param exits the exit codes of `npm ci` and, if its tests pass, of `npm test`
 */
async function lastLineOf(
  files: Readonly<Record<string, string>>,
  exits: { readonly ci?: number; readonly test?: number } = {},
): Promise<[line: string, code: number | null]> {
  const tests = Object.entries(files).map(([name, text]) => [`packages/any/src/${name}.test.ts`, text]);
  // The continuous integration unchanged, with a README's test command that runs these tests instead of all.
  const root = folderWith({
    ...Object.fromEntries(tests),
    ".ci/run": readFileSync(join(REPOSITORY, ".ci/run"), "utf8"),
    // The servers are those of this test's own run.
    ".ci/servers": '#!/bin/sh\nexec "$@"\n',
    ".ci/counts.mjs": readFileSync(join(REPOSITORY, ".ci/counts.mjs"), "utf8"),
    "bin/chromium": "",
    "bin/npm": `#!/bin/sh
[ "$1" = test ] || exit ${exits.ci ?? 0}
${process.execPath} ${join(REPOSITORY, "node_modules/vitest/vitest.mjs")} run --globals --root . --config ${join(REPOSITORY, "vitest.config.ts")} && exit ${exits.test ?? 0}
`,
  });
  const script = `chmod +x bin/* .ci/servers; PATH="$PWD/bin:${join(process.execPath, "..")}:$PATH" exec bash .ci/run`;
  const { code, output } = await execute(root, "bash", ["-c", `cd "$0"; ${script}`, root], { CI: "" });
  return [output.trimEnd().split("\n").at(-1)!, code];
}

const PASSING = 'test("passes", () => { expect(1).toBe(1); });\n';

test("a run without failures succeeds", async () => {
  expect(await lastLineOf({ a: `${PASSING}test.skip("left out", () => {});` })).toEqual([
    "1 passed, 0 failed, 1 skipped",
    0,
  ]);
});

test("the tests see that this is continuous integration", async () => {
  const asking = 'test("asks", () => { expect(process.env.CI).toBe("true"); });';
  expect(await lastLineOf({ a: asking })).toEqual(["1 passed, 0 failed, 0 skipped", 0]);
});

test("an error outside of the tests is a failure", async () => {
  const rejecting = `test("forgets", async () => {
  Promise.reject(new Error("no one awaited this"));
  setTimeout(() => { throw new Error("no one caught this"); });
  await new Promise((resolve) => setTimeout(resolve, 50));
});`;
  expect(await lastLineOf({ a: PASSING, b: rejecting })).toEqual(["2 passed, 2 failed, 0 skipped", 1]);
});

test("a failed test and a file that cannot be loaded are failures", async () => {
  const files = { a: PASSING, b: 'test("fails", () => { expect(1).toBe(2); });', c: 'throw new Error("at once");' };
  expect(await lastLineOf(files)).toEqual(["1 passed, 2 failed, 0 skipped", 1]);
});

test("a file's failed hook is a failure", async () => {
  const files = { a: `${PASSING}afterAll(() => { throw new Error("at the end"); });` };
  expect(await lastLineOf(files)).toEqual(["1 passed, 1 failed, 0 skipped", 1]);
});

test("a run without any tests is a failure", async () => {
  expect(await lastLineOf({})).toEqual(["0 passed, 1 failed, 0 skipped", 1]);
});

test("tests that did not run because a process ended are failures", async () => {
  const ending = `test("ends its process", () => process.kill(process.pid, "SIGKILL"));
${PASSING}`;
  // Both tests, and the end of the process.
  expect(await lastLineOf({ a: ending })).toEqual(["0 passed, 3 failed, 0 skipped", 1]);
});

test("a failed installation is a failure, and no tests run", async () => {
  expect(await lastLineOf({ a: PASSING }, { ci: 1 })).toEqual(["0 passed, 1 failed, 0 skipped", 1]);
});

test("a test command that fails even though every test passed is a failure", async () => {
  expect(await lastLineOf({ a: PASSING }, { test: 1 })).toEqual(["1 passed, 1 failed, 0 skipped", 1]);
});

test("a run without a passed test is a failure", async () => {
  expect(await lastLineOf({ a: 'test.skip("left out", () => {});' })).toEqual(["0 passed, 1 failed, 1 skipped", 1]);
});
