import { expect, onTestFinished, test } from "vitest";
import { createTestClient } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, edit, execute, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { followSection } from "../../support/page-sections.ts";

test("the guard and the store of the page on own guards pass their tests, and log users in", {
  timeout: 60_000,
}, async () => {
  const root = await generatedApplication();
  await followPage(root, "docs/guides/own-guards.md");
  await followSection(root, "docs/guides/own-guards.md", "API keys, complete");
  await edit(
    root,
    "config/auth.ts",
    ["web: { model: User }", "web: { model: User, logins: () => new MemoryLogins() }"],
    ["import { User }", 'import { MemoryLogins } from "../app/stores/memory-logins.ts";\nimport { User }'],
  );
  await checkTypes(root);
  const { code, output } = await execute(root, process.execPath, [
    "--test",
    "tests/api-keys.test.ts",
    "tests/memory-logins.test.ts",
  ]);
  expect(code, output).toBe(0);
  expect(output).toContain("ℹ fail 0");

  const { application, end } = await bootApplication(root);
  onTestFinished(end);
  const client = createTestClient(application);
  const password = "a password of hers";
  const form = { name: "Ada", email: "ada@example.com", password, password_confirmation: password };
  await client.submit(await client.get("/register"), form);
  (await client.get("/logins")).assertSee("This device");
  const { kysely } = application.container.make("database");
  expect(await kysely.selectFrom("logins").selectAll().execute()).toEqual([]);
});
