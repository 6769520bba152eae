import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { databaseSessions } from "../../../src/session/index.ts";
import { createTestClient } from "../../../src/testing/index.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { checkTypes, edit, execute, generatedApplication } from "../../support/generated-application.ts";
import { followPage, pageFiles } from "../../support/page-files.ts";
import { followSection } from "../../support/page-sections.ts";

test("the page's guard and store pass their tests, and log users in", async () => {
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

test("S19 a guard that keeps logins in the session ends copied cookies, and fails startup where it can't", async () => {
  const root = await generatedApplication();
  await followSection(root, "docs/guides/own-guards.md", "Guards that log users in");
  await edit(
    root,
    "routes/web.ts",
    ["import { Route,", "import { type HttpContext, Route,"],
    [
      "...Auth.routes(AuthControllers),",
      `...Auth.routes(AuthControllers),
  Route.post("/kiosk/login", async ({ auth, request }: HttpContext) => {
    const { status } = await auth.guard("kiosk").login(request.string("email"), request.string("password"));
    return { status };
  }),
  Route.post("/kiosk/logout", async ({ auth }: HttpContext) => {
    await auth.guard("kiosk").logout();
    return {};
  }),
  Route.get("/kiosk/me", ({ request }: HttpContext) => ({ email: request.user()!.email })).middleware("auth:kiosk"),`,
    ],
  );
  await expect(bootApplication(root)).rejects.toThrow("needs databaseSessions() in config/session.ts");

  const files = await pageFiles("docs/guides/sessions.md");
  const migration = files.find(({ path }) => path.endsWith("_create_session_data.ts"))!;
  await writeFile(join(root, migration.path), migration.text);
  await checkTypes(root);
  const { application, end } = await bootApplication(root, {
    config: { session: { SESSION: { store: databaseSessions() } } },
  });
  onTestFinished(end);
  const User = await userClass(root);
  const [email, password] = ["ada@example.com", "a password of hers"];
  const user = new User().fill({ name: "Ada", email });
  await user.setPassword(password);
  await user.save();
  const client = createTestClient(application).withCsrfToken();
  const login = await client.postJson("/kiosk/login", { email, password });
  login.assertJson({ status: "complete" });
  const cookie = login.headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ");
  const asThief = async (): Promise<number> => {
    const headers = { accept: "application/json", cookie };
    return (await application.fetch(new Request(new URL("/kiosk/me", application.url), { headers }))).status;
  };
  expect(await asThief()).toBe(200);
  (await client.postJson("/kiosk/logout", {})).assertStatus(200);
  expect(await asThief()).toBe(401);
});
