// A column that names the key of another table has the type that keys have on each database. MariaDB refuses any other.
import { expect, test } from "vitest";
import { markdownSamples } from "../support/samples.ts";

const SAMPLED = ["README.md", "docs"];
/** A column whose type is a text, such as "integer", and which refers to the id of another table. */
const FIXED = /addColumn\("\w+", "[^"]+"(?:(?!addColumn)[\s\S])*?\.references\("\w+\.id"\)/g;

test("the manual's migrations refer to another table's id with reference(database)", async () => {
  const samples = await markdownSamples(...SAMPLED);
  const references = samples.filter(({ code }) => /\.references\("\w+\.id"\)/.test(code));
  expect(references.length).toBeGreaterThan(5);
  expect(references.flatMap(({ file, code }) => (code.match(FIXED) ?? []).map((text) => `${file}: ${text}`))).toEqual(
    [],
  );
});
