// Every command that a page names exists, with the options that the page gives it.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { generateApplication, generatedApplication } from "../support/generated-application.ts";
import { pathOf } from "../support/page-files.ts";
import { markdownSamples, REPOSITORY } from "../support/samples.ts";

/** Pages for those who work on the framework: their scripts are the repository's. */
const OWN = ["CONTRIBUTING.md", "RELEASING.md"];
const ALL = ["README.md", ...OWN, "docs"];
const EVERYWHERE = ["--help", "--version"];
/** Stands for any command. */
const ANY = "<command>";
/** Scripts that belong to another subject than the page's, by page, each with its subject. */
const OF_OTHERS: Readonly<Record<string, string>> = {
  "docs/coming-from/index.md: npm run build": "another framework",
  "RELEASING.md: npm run dev": "an application that is created to try a release",
};

/** A command line in a page: in a code span, or a line of a shell's fence. */
interface Line {
  readonly file: string;
  readonly text: string;
}

async function linesOf(paths: readonly string[]): Promise<Line[]> {
  const samples = await markdownSamples(...paths);
  const shell = samples.filter(({ language }) => ["sh", "bash"].includes(language));
  const lines = shell.flatMap(({ file, code }) => code.split("\n").map((text) => ({ file, text })));
  const files = new Set([...samples.map(({ file }) => file), ...paths.filter((path) => path.endsWith(".md"))]);
  for (const file of files) {
    const text = (await readFile(join(REPOSITORY, file), "utf8")).replaceAll(/^ *```[\s\S]*?^ *```/gm, "");
    lines.push(...[...text.matchAll(/`([^`\n]+)`/g)].map(([, span]) => ({ file, text: span! })));
  }
  return lines.flatMap(({ file, text }) =>
    text.split(/&&|\||;|\s#/).map((one) => ({ file, text: one.replace(/^\s*\$?\s*/, "").trim() })),
  );
}

/** The options of each command, by its name: those that its help lists. */
async function optionsByCommand(): Promise<Map<string, ReadonlySet<string>>> {
  // An application's providers add commands, such as the mail commands.
  const folder = await generatedApplication();
  await ashlar(folder, "auth", "--two-factor");
  const options = (help: string) => new Set([...help.matchAll(/(?<=[\s,])--?[a-z][a-z-]*/g)].map(([option]) => option));
  const { output } = await ashlar(folder, "--help");
  const [, list = ""] = output.split("Commands:\n");
  const found = new Map<string, ReadonlySet<string>>();
  for (const [, name] of list.matchAll(/^ {2}([a-z][a-z:-]*)/gm)) {
    found.set(name!, name === "help" ? new Set() : options((await ashlar(folder, name!, "--help")).output));
  }
  return found;
}

let lines: Line[];
beforeAll(async () => {
  lines = await linesOf(ALL);
});

test("every `npx ashlar` command in a page exists, with its options", async () => {
  const commands = await optionsByCommand();
  const unknown: string[] = [];
  let count = 0;
  for (const { file, text } of lines) {
    const [, rest] = /^npx ashlar (.+)/.exec(text) ?? [];
    if (rest === undefined) continue;
    count++;
    const [name = "", ...others] = rest.split(/\s+/);
    if (EVERYWHERE.includes(name) || name === ANY) continue;
    const options = commands.get(name);
    const used = others.filter((word) => /^-./.test(word)).map((word) => word.split("=")[0]!);
    if (options === undefined || used.some((one) => !options.has(one))) unknown.push(`${file}: ${text}`);
  }
  expect(unknown).toEqual([]);
  expect(count).toBeGreaterThan(60);
});

describe("scripts", () => {
  test("every `npm run` script in a page is one of the application's, or of the repository's", async () => {
    const { root, remove } = await generateApplication({});
    const scripts = async (folder: string): Promise<string[]> =>
      Object.keys(JSON.parse(await readFile(join(folder, "package.json"), "utf8")).scripts);
    const [ofApplication, ofRepository] = [await scripts(root), await scripts(REPOSITORY)];
    await remove();
    const unknown: string[] = [];
    let count = 0;
    for (const { file, text } of lines) {
      const [, name] = /^npm run (?:--silent )?([a-z][\w:-]*)/.exec(text) ?? [];
      if (name === undefined) continue;
      count++;
      // The repository's README shows both.
      const known = OWN.includes(file) ? ofRepository : ofApplication;
      if (!known.includes(name) && !(file === "README.md" && ofRepository.includes(name))) {
        unknown.push(`${file}: npm run ${name}`);
      }
    }
    expect(unknown.toSorted()).toEqual(Object.keys(OF_OTHERS).toSorted());
    expect(count).toBeGreaterThan(20);
  });

  test("every file in `scripts` that a page runs exists, with its step, or the manual shows it", async () => {
    const shown = (await markdownSamples("docs")).map(({ code }) => pathOf(code));
    const unknown: string[] = [];
    let count = 0;
    for (const { file, text } of lines) {
      const [, script, step] = /^node (scripts\/[\w./-]+)(?: ([a-z]+)\b)?/.exec(text) ?? [];
      if (script === undefined) continue;
      count++;
      if (file.startsWith("docs/") && shown.includes(script)) continue;
      const path = join(REPOSITORY, script);
      const isThere = existsSync(path) && !file.startsWith("docs/");
      const hasStep = step === undefined || (isThere && (await readFile(path, "utf8")).includes(`function ${step}(`));
      if (!isThere || !hasStep) unknown.push(`${file}: ${text}`);
    }
    expect(unknown).toEqual([]);
    expect(count).toBeGreaterThan(5);
  });
});
