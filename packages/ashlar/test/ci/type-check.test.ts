// Tests check the types of applications with a compiler that stays (`typeProblems`): it finds what the command finds.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { edit, generatedApplication } from "../support/generated-application.ts";
import { compile } from "../support/installed-application.ts";
import { typeProblems } from "../support/type-check.ts";

/** The files and codes of the problems that `tsc` prints. */
async function printed(root: string): Promise<string[]> {
  const output = await compile(root, "TypeScript 7");
  return [...output.matchAll(/^(\S+?)\(\d+,\d+\): error (TS\d+): /gm)].map(([, file, code]) => `${file} ${code}`);
}

const found = async (root: string): Promise<string[]> =>
  (await typeProblems(root)).map((problem) => problem.replace(/: (TS\d+) .*$/s, " $1"));

/** Files with one problem each: of types, modules, settings, and of what all files share. */
const WRONG: Readonly<Record<string, string>> = {
  "app/type.ts": "export const wrong: string = 1;",
  "app/name.ts": 'import { Nothing } from "ashlar";\nexport const wrong = Nothing;',
  "app/module.ts": 'import { missing } from "./missing.ts";\nexport const wrong = missing;',
  "app/setting.ts": "export enum Wrong { One }",
  "app/global.ts": "declare global { interface Array { wrong: string } }\nexport {};",
};

test("each application's tsc errors are found, even in files added since the last check", async () => {
  const [root, other] = [await generatedApplication({ api: false }), await generatedApplication({ api: false })];
  expect([await found(root), await found(other)]).toEqual([[], []]);
  for (const [file, text] of Object.entries(WRONG)) await writeFile(join(root, file), text);
  const problems = await found(root);
  expect(problems.toSorted()).toEqual((await printed(root)).toSorted());
  expect(new Set(problems.map((problem) => problem.split(" ")[0]))).toEqual(new Set(Object.keys(WRONG)));
  expect(await found(other)).toEqual([]);
  for (const file of Object.keys(WRONG)) await rm(join(root, file));
  await writeFile(join(root, "app/syntax.ts"), "export const wrong = ;");
  await edit(root, "tsconfig.json", ['"strict": true', '"strict": "yes"']);
  expect(await found(root)).toEqual(["tsconfig.json TS5024", "app/syntax.ts TS1109"]);
});
