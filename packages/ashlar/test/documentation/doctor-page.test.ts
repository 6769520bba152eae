import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ALL_FINDINGS } from "../support/framework-features.ts";

const PAGE = join(import.meta.dirname, "../../../../docs/reference/doctor.md");

test("docs/reference/doctor.md lists every finding with its meaning, in the order of the code", async () => {
  const page = await readFile(PAGE, "utf8");
  const rows = [...page.matchAll(/^\| `([a-z]+\.[a-z]+)` \| (.+?) \| (.+) \|$/gm)];
  expect(rows.map(([, id, meaning]) => [id, meaning])).toEqual(Object.entries(ALL_FINDINGS));
  for (const [, id, , remedy] of rows) expect(remedy!.length, id).toBeGreaterThan(5);
});
