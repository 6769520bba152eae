// A page that shows a complete file shows what a new application has, plus what the page is about. Each page is followed in an
// application with everything, whose own tests, linter and doctor then find nothing.

import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { execute, generatedApplication } from "../support/generated-application.ts";
import { partsOf } from "../support/generated-parts.ts";
import { isPageFile, PAGES, type PageFile, pageFiles, writePageFile } from "../support/page-files.ts";
import { markdownSamples } from "../support/samples.ts";

const OXLINT = join(import.meta.dirname, "../../../../node_modules/oxlint/bin/oxlint");

/** What files leave out on purpose, by the page and the path, and why. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  // A private key takes the secret's place.
  "docs/guides/api-tokens.md config/api.ts": ['env("JWT_SECRET"'],
  "docs/guides/token-keys.md config/api.ts": ['env("JWT_SECRET"'],
};

async function pages(): Promise<string[]> {
  return [...new Set((await markdownSamples(...PAGES)).filter(isPageFile).map(({ file }) => file))];
}

test("a complete file keeps a new application's code", async () => {
  const root = await generatedApplication();
  const lost: string[] = [];
  for (const page of await pages()) {
    for (const { path, text, line } of await pageFiles(page)) {
      const generated = await readFile(join(root, path), "utf8").catch(() => null);
      if (generated === null) continue;
      const kept = [...partsOf(path, text), ...(LEFT_OUT[`${page} ${path}`] ?? [])];
      const missing = partsOf(path, generated).filter((part) => !kept.includes(part));
      if (missing.length > 0) lost.push(`${page}:${line} ${path}: ${missing.join(", ")}`);
    }
  }
  expect(lost).toEqual([]);
});

/** What pages need besides their complete files: their tests do it, and check what is promised. */
const NEEDS_MORE: Readonly<Record<string, string>> = {
  "docs/guides/api-tokens.md": "it shows several configurations of one file",
  "docs/guides/changing-accounts.md": "its sections are independent of each other",
  "docs/guides/databases.md": "its configurations are of servers that don't exist",
  "docs/guides/login-links.md": "ashlar auth --login-links writes the controllers",
  "docs/guides/own-authority.md": "its certificates don't exist",
  "docs/guides/own-guards.md": "its sections are independent of each other",
  "docs/guides/passkeys.md": "ashlar auth --passkeys writes the controllers",
  "docs/guides/personal-tokens.md": "ashlar tokens:install writes the controller",
  "docs/guides/token-keys.md": "ashlar key:generate writes the keys",
  "docs/guides/upgrading.md": "its application is an older one",
  "docs/coming-from/index.md": "its users are those of another framework",
};

/** Variables that a page asks for. */
const VARIABLES: Readonly<Record<string, Record<string, string>>> = {
  "docs/guides/observability.md": { METRICS_TOKEN: "a token for Prometheus, and for no one else" },
};

const GUIDES = (await pages()).filter((page) => page.startsWith("docs/guides/") && NEEDS_MORE[page] === undefined);

test.for(GUIDES)("following %s results in an application that passes its tests", async (page) => {
  const files = await pageFiles(page);
  const root = await generatedApplication();
  for (const file of files) await writePageFile(root, file);
  // The page's routes and settings are in use. Its samples are compiled and run by its own test.
  if (files.some(isOfApplication)) {
    const environment = VARIABLES[page] ?? {};
    const tests = ["tests/application.test.ts", "tests/auth.test.ts"];
    const { code, output } = await execute(root, process.execPath, ["--test", ...tests], environment);
    expect(code, output).toBe(0);
    await ashlar(root, "migrate");
    const { output: report } = await ashlar(root, "doctor", "--json");
    const { findings } = JSON.parse(report) as { findings: { severity: string; problem: string }[] };
    const errors = findings.filter(({ severity }) => severity === "error").map(({ problem }) => problem);
    expect(VARIABLES[page] === undefined ? errors : []).toEqual([]);
  }
});

test("the guides' samples pass `npm run lint`", async () => {
  const root = await generatedApplication();
  const all = join(root, "../all");
  // The linter reads what is the same for all of them once. It takes types into account only with settings of its own folder.
  await mkdir(all);
  await rename(join(root, ".oxlintrc.json"), join(all, ".oxlintrc.json"));
  await cp(root, join(all, "wrong"), { recursive: true });
  await writeFile(join(all, "wrong/app/wrong.ts"), "async function forgotten() {}\nforgotten();\n");
  for (const page of GUIDES) {
    const copy = join(all, page.replaceAll("/", "-"));
    await cp(root, copy, { recursive: true });
    for (const file of await pageFiles(page)) await writePageFile(copy, file);
    expect(existsSync(join(copy, ".oxlintrc.json")), page).toBe(false);
  }
  expect(await lint(all)).toEqual([expect.stringMatching(/^wrong\/app\/wrong\.ts:2:.*no-floating-promises/)]);
});

/** Whether a file is one that a new application has, or that it loads. */
function isOfApplication({ path }: PageFile): boolean {
  return /^(?:routes|config|lang)\/|^app\/kernel\.ts$/.test(path);
}

/**
 * The linter's findings in a folder, as a separate repository, because this one ignores the folders that its tests
 * generate.
 */
async function lint(folder: string): Promise<string[]> {
  await execute(folder, "git", ["init", "--quiet"]);
  const { output } = await execute(folder, process.execPath, [OXLINT, "--format=unix"]);
  return output.split("\n").filter((line) => line.includes("[Error/"));
}
