import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMAND, edit, execute, generatedApplication } from "../support/generated-application.ts";
import { OLDEST_RUNTIME } from "../support/runtimes.ts";

const SQLITE = "ExperimentalWarning: SQLite is an experimental feature";
const { path: node, version } = OLDEST_RUNTIME;

test(`Node ${version} warns about SQLite by default`, async () => {
  const { output } = await execute(".", node, ["--eval", 'require("node:sqlite")']);
  expect(output).toContain(SQLITE);
});

test(`on Node ${version} the commands print nothing but their own output`, async () => {
  const root = await generatedApplication();
  const { code, output } = await execute(root, node, [COMMAND, "migrate"]);
  expect(output).toMatch(/^(Migrated \d{4}_\d\d_\d\d_\d{6}_\w+\n)+$/);
  expect(code).toBe(0);
  const routes = await execute(root, node, [COMMAND, "routes", "--json"]);
  expect(JSON.parse(routes.output)).toContainEqual(expect.objectContaining({ path: "/", name: "welcome" }));
});

test("other warnings are printed, including those about other experiments", async () => {
  const root = await generatedApplication();
  await writeFile(join(root, "app/warning.ts"), 'process.emitWarning("Mine.", "ExperimentalWarning");\n');
  await edit(root, "config/database.ts", ["import { env }", 'import "../app/warning.ts";\nimport { env }']);
  const { output } = await execute(root, node, [COMMAND, "migrate"]);
  expect(output).toContain("ExperimentalWarning: Mine.");
  expect(output).not.toContain(SQLITE);
});

test("an application that loads SQLite directly still gets Node's warning", async () => {
  const root = await generatedApplication();
  const script =
    'await import("node:sqlite"); const { default: application } = await import("./app.ts"); await application.shutdown();';
  const { output } = await execute(root, node, ["--input-type=module", "--eval", script]);
  expect(output).toContain(SQLITE);
});
