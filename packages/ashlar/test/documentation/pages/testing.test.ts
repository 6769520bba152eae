import { expect, test } from "vitest";
import { checkTypes, execute, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";

test("the page's test file passes in a generated application", async () => {
  const root = await generatedApplication({ api: false });
  await followPage(root, "docs/guides/testing.md");
  await checkTypes(root);
  const { code, output } = await execute(root, process.execPath, ["--test", "tests/registration.test.ts"]);
  expect(output).toContain("ℹ pass 3");
  expect(code, output).toBe(0);
});
