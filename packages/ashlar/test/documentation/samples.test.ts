import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compile, installedApplication } from "../support/installed-application.ts";
import { filesOf, moduleOf, publicNames, type SampleModule, settingNames } from "../support/sample-modules.ts";
import { docCommentSamples, markdownSamples, type Sample } from "../support/samples.ts";

const SETTING = join(import.meta.dirname, "setting.ts.stub");
const SOURCES = ["packages/ashlar/src", "packages/create-ashlar/src"];
const DOCUMENTS = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "docs",
  "packages/ashlar/README.md",
  "packages/create-ashlar/README.md",
  "packages/ashlar/stubs",
];

/** What a fence may say of code that is not TypeScript, and so is not compiled. */
const OTHER_LANGUAGES = ["sh", "text", "http", "json", "edge", "sql", "html", "diff", "dockerfile", "nginx", "ini"];

async function allSamples(): Promise<Sample[]> {
  return [...(await docCommentSamples(...SOURCES)), ...(await markdownSamples(...DOCUMENTS))];
}

async function modules(): Promise<SampleModule[]> {
  const setting = settingNames(await readFile(SETTING, "utf8"), "./setting.ts");
  const names = await publicNames();
  const samples = (await allSamples()).filter(({ language }) => language === "ts");
  const files = samples.flatMap(filesOf);
  return files.map((file) => {
    // Files that one sample shows together import from each other.
    const others = files.flatMap((other, index) =>
      other.path !== null && other !== file && other.sample === file.sample
        ? [...settingNames(other.code, `./${index}.ts`)]
        : [],
    );
    return moduleOf(file, new Map(others), setting, names);
  });
}

test("every fence says what it holds", async () => {
  const samples = await allSamples();
  const unknown = samples.filter(({ language }) => language !== "ts" && !OTHER_LANGUAGES.includes(language));
  expect(unknown.map(({ file, line, language }) => `${file}:${line} ${language}`)).toEqual([]);
  expect(samples.filter(({ language }) => language === "ts").length).toBeGreaterThan(40);
});

test("the code of doc comments and documents compiles in an application", { timeout: 120_000 }, async () => {
  const root = await installedApplication();
  const samples = await modules();
  await mkdir(join(root, "samples"));
  await copyFile(SETTING, join(root, "samples/setting.ts"));
  for (const [index, { text }] of samples.entries()) await writeFile(join(root, `samples/${index}.ts`), text);
  const output = await compile(root, "TypeScript 7");
  const problems = output
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((problem) =>
      problem.replace(/^samples\/(\d+)\.ts\((\d+),/, (_, index: string, line: string) => {
        const { file, line: first } = samples[Number(index)]!;
        return `${file}:${first + Math.max(0, Number(line) - 2)} (`;
      }),
    );
  expect(problems).toEqual([]);
});
