import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { execute, generatedApplication } from "../support/generated-application.ts";

const OXLINT = join(import.meta.dirname, "../../../../node_modules/oxlint/bin/oxlint");

/**
 * Runs the application's own `npm run lint` in a separate repository, because this one ignores files that tests
 * generate.
 */
async function lint(root: string): Promise<{ code: number | null; found: string[]; output: string }> {
  const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { scripts: { lint: string } };
  expect(scripts.lint).toBe("oxlint");
  await execute(root, "git", ["init", "--quiet"]);
  const { code, output } = await execute(root, process.execPath, [OXLINT, "--format=unix"]);
  const found = [...output.matchAll(/^(\S+?:\d+):\d+: .*\[Error\/([^\]]+)\]$/gm)].map(
    ([, place, rule]) => `${place} ${rule}`,
  );
  return { code, found, output };
}

describe("npm run lint of a new application", () => {
  test.for([
    { pages: true, api: true },
    { pages: false, api: true },
    { pages: true, api: false },
    { pages: false, api: false },
  ])("finds nothing in the unchanged application: %j", async (options) => {
    expect(await lint(await generatedApplication(options))).toMatchObject({ code: 0, found: [] });
  });

  test("finds nothing in files that the commands create", async () => {
    const root = await generatedApplication();
    for (const args of [
      ["make:controller", "Order", "--resource"],
      ["make:model", "Order"],
      ["make:middleware", "Timing"],
      ["make:provider", "Billing"],
      ["make:migration", "create_orders"],
    ])
      expect(await ashlar(root, ...args)).toMatchObject({ code: 0 });
    expect(await lint(root)).toMatchObject({ code: 0, found: [] });
  });

  test("finds each forgotten await", async () => {
    const root = await generatedApplication();
    await writeFile(
      join(root, "app/forgetful.ts"),
      `import { createTestClient } from "ashlar/testing";
import { Route } from "ashlar";
import application from "../app.ts";
import { User } from "./models/user.ts";

export const ROUTES = [
  Route.post("/forgetful", async ({ auth, response }) => {
    const user = await auth.user();
    user?.save();
    User.find(1);
    auth.logout();
    new User().fill({ name: "Ada" }).save();
    createTestClient(application).get("/");
    if (auth.check()) return response.redirect("/");
    await user?.save();
    return "answered";
  }),
];
`,
    );
    const { code, found } = await lint(root);
    expect(found).toEqual([
      "app/forgetful.ts:9 typescript(no-floating-promises)",
      "app/forgetful.ts:10 typescript(no-floating-promises)",
      "app/forgetful.ts:11 typescript(no-floating-promises)",
      "app/forgetful.ts:12 typescript(no-floating-promises)",
      "app/forgetful.ts:13 typescript(no-floating-promises)",
      "app/forgetful.ts:14 typescript(no-misused-promises)",
    ]);
    expect(code).toBe(1);
  });
});
