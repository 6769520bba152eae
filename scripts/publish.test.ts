import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const SCRIPT = join(import.meta.dirname, "../.ci/publish");

/**
 * Runs the script with an npm that knows certain published versions, and returns the packages that npm was asked to
 * publish.
 */
function published(tag: string, known: readonly string[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-publish-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const log = join(folder, "log");
  writeFileSync(log, "");
  const answers = known.map((name) => `"view ${name} version") echo "${name.split("@")[1]}"; exit 0 ;;`);
  const script = `#!/bin/sh\ncase "$*" in ${answers.join(" ")} view*) exit 1 ;; esac\necho "$*" >> "${log}"\n`;
  writeFileSync(join(folder, "npm"), script);
  chmodSync(join(folder, "npm"), 0o755);
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` };
  expect(spawnSync("bash", [SCRIPT, tag], { env, encoding: "utf8" })).toMatchObject({ status: 0 });
  return readFileSync(log, "utf8").trim().split("\n");
}

test.skipIf(process.platform === "win32")("a release publishes the framework first, and both as latest", () => {
  expect(published("v0.2.0", ["ashlar@0.1.0"])).toEqual([
    "publish --workspace packages/ashlar --access public --tag latest",
    "publish --workspace packages/create-ashlar --access public --tag latest",
  ]);
});

test.skipIf(process.platform === "win32")("a preview does not become latest", () => {
  expect(published("v0.2.0-beta.1", [])).toEqual([
    "publish --workspace packages/ashlar --access public --tag next",
    "publish --workspace packages/create-ashlar --access public --tag next",
  ]);
});

test.skipIf(process.platform === "win32")(
  "packages that are already published are skipped, so that a release can be run again",
  () => {
    expect(published("v0.2.0", ["ashlar@0.2.0"])).toEqual([
      "publish --workspace packages/create-ashlar --access public --tag latest",
    ]);
  },
);
