import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { execute } from "../support/generated-application.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SCRIPT = join(import.meta.dirname, "../../../create-ashlar/bin/create-ashlar.js");
const HERE = ["--yes", "--no-install", "--no-migrate"];

test.for([
  { flags: [], pages: true, api: true },
  { flags: ["--no-pages"], pages: false, api: true },
  { flags: ["--no-api"], pages: true, api: false },
  { flags: ["--no-pages", "--no-api"], pages: false, api: false },
])("with $flags the application has what they leave in", async ({ flags, pages, api }) => {
  const parent = await temporaryFolder();
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, "shop", ...HERE, ...flags]);
  expect(output).toMatch(/^Made \d+ files in shop, and a \.env with secrets of its own\.\nNext:\n {2}cd shop\n/);
  expect(code).toBe(0);
  expect(existsSync(join(parent, "shop/views/auth/login.edge"))).toBe(pages);
  expect(existsSync(join(parent, "shop/routes/api.ts"))).toBe(api);
});

test("a flag that there is not ends it, and nothing is made", async () => {
  const parent = await temporaryFolder();
  const { code, output } = await execute(parent, process.execPath, [SCRIPT, "shop", "--no-page"]);
  expect(code).toBe(1);
  expect(output).toContain("Did you mean --no-pages?");
  expect(existsSync(join(parent, "shop"))).toBe(false);
});
