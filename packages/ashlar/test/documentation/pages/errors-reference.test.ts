// The reference of error codes lists every declared code, with its status and its sentence.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ERRORS } from "../../../src/public/index.ts";
import { createTestClient } from "../../../src/public/testing.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { generatedApplication } from "../../support/generated-application.ts";
import { codeOf, pageTables } from "../../support/page-tables.ts";
import { markdownSamples } from "../../support/samples.ts";

const PAGE = "docs/reference/errors.md";
const PUBLIC = join(import.meta.dirname, "../../../src/public");

async function listed(): Promise<readonly Readonly<Record<string, string>>[]> {
  return (await pageTables(PAGE)).flatMap(({ columns, rows }) => (columns[0] === "Code" ? rows : []));
}

/** The codes that the framework declares. Tests of this worker may have declared their own. */
async function declared(): Promise<string[]> {
  for (const file of await readdir(PUBLIC)) await import(join(PUBLIC, file));
  const source = join(PUBLIC, "..");
  const codes = new Set<string>();
  for (const entry of await readdir(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/(?<!\.test)\.ts$/.test(entry.name)) continue;
    const text = await readFile(join(entry.parentPath, entry.name), "utf8");
    for (const [, code] of text.matchAll(/^ {2}(E_[A-Z_]+): \[\d{3}, /gm)) codes.add(code!);
  }
  return [...codes];
}

test("the page lists exactly the codes that the framework declares, each once", async () => {
  const codes = (await listed()).map(({ Code = "" }) => codeOf(Code));
  expect(codes.toSorted()).toEqual((await declared()).toSorted());
  expect(codes.length).toBeGreaterThan(60);
});

test("each code has its declared status and sentence, and advice", async () => {
  await declared();
  for (const { Code = "", Status, Meaning, "What to do": remedy = "" } of await listed()) {
    const code = codeOf(Code) as keyof typeof ERRORS;
    expect([code, Number(Status), Meaning]).toEqual([code, ...ERRORS[code]]);
    expect(remedy, code).toMatch(/\w.*\.$/);
  }
});

test("a missing input results in the page's problem document", async () => {
  const root = await generatedApplication({ pages: false });
  const { application, end } = await bootApplication(root);
  try {
    const [example] = (await markdownSamples(PAGE)).filter(({ language }) => language === "json");
    const shown: unknown = JSON.parse(example!.code);
    const answer = await createTestClient(application).postJson("/api/auth", { password: "a password of hers" });
    expect(answer.json).toEqual(shown);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
  } finally {
    await end();
  }
});
