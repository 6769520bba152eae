import { expect, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { diagnose } from "./diagnose.ts";

/** The doctor's report about a check "Stock", with these members, that is declared by a feature. */
async function reportOf(members: string) {
  const check = `{ name: "Stock", findings: { "stock.empty": "The stock is empty." }, ${members} }`;
  const root = folderWith({
    "package.json": "{}",
    "config/providers.ts": `class StockProvider { static feature = { name: "stock", checks: [${check}] }; }
export const PROVIDERS = [StockProvider];`,
  });
  const { sections } = await diagnose(root, false);
  return sections.find(({ name }) => name === "Stock")!.findings.map(({ id, problem }) => [id, problem]);
}

const running = (code: string): string => `load: async () => ({ run: async ({ error, warning }) => { ${code} } })`;

test("a check reports the findings that it declares", async () => {
  expect(await reportOf(running('error("stock.empty", { problem: "Nothing is left." });'))).toEqual([
    ["stock.empty", "Nothing is left."],
  ]);
});

test.each(["error", "warning"])("a check can't report an undeclared finding with %s()", async (severity) => {
  for (const id of ["stock.old", "toString"]) {
    expect(await reportOf(running(`${severity}("${id}", { problem: "It is old." });`))).toEqual([
      [
        "doctor.check",
        `The check "Stock" could not be completed: StockProvider: the finding "${id}" is not declared. ` +
          'Add it to the findings of the check "Stock", with what it means.',
      ],
    ]);
  }
});

test("a check that doesn't end is canceled after its own time limit", async () => {
  expect(await reportOf(`seconds: 0.02, ${running("await new Promise(() => {});")}`)).toEqual([
    ["doctor.check", 'The check "Stock" could not be completed: The check "Stock" took longer than 0.02 seconds.'],
  ]);
});
