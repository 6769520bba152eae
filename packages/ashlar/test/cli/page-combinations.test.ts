import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import { captureMail, createTestClient, linksIn, type MailCapture, type TestClient } from "../../src/testing/index.ts";
import { bootApplication } from "../support/booted-application.ts";
import { edit, generatedApplication } from "../support/generated-application.ts";
import { onEachDatabase, type TestEngine } from "../support/services.ts";

const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";
const NEW_PASSWORD = "another password altogether";

/** Every generated page, and where it redirects a guest and a user; to itself by default. */
const PAGES: readonly (readonly [path: string, guest?: string, user?: string])[] = [
  ["/"],
  ["/login", "/login", "/home"],
  ["/register", "/register", "/home"],
  ["/change_password"],
  ["/password_reset?token=x"],
  ["/password_reset"],
  ["/email/verify/notice"],
  ["/email/verify/a-token", "/email/verify/notice", "/email/verify/notice"],
  ["/home", "/login"],
  ["/logins", "/login"],
  ["/confirm_password", "/login"],
  ["/account/password", "/login"],
  ["/account/email", "/login"],
];

interface Combination {
  readonly engine: TestEngine;
  readonly api: boolean;
  readonly pages?: boolean;
  readonly mustVerify?: boolean;
  readonly changes?: readonly (readonly [path: string, from: string, to: string])[];
}

/** A generated application, as changed by its author, and its mails. */
async function started(made: Combination): Promise<{ readonly application: Application; readonly mail: MailCapture }> {
  const { engine, api, pages = true, mustVerify = true, changes = [] } = made;
  const root = await generatedApplication({ api, pages, database: engine.name as "sqlite" });
  if (!mustVerify) {
    const path = "app/models/user.ts";
    await edit(root, path, ["{ Authenticates, MustVerifyEmail }", "{ Authenticates }"], [", MustVerifyEmail)", ")"]);
  }
  for (const [path, from, to] of changes) await edit(root, path, [from, to]);
  const { application, end } = await bootApplication(root, { engine });
  onTestFinished(end);
  return { application, mail: pages ? await captureMail(application) : (undefined as never) };
}

async function register(application: Application, to: string): Promise<TestClient> {
  const client = createTestClient(application);
  const fields = { name: "Ada", email: EMAIL, password: PASSWORD, password_confirmation: PASSWORD };
  (await client.submit(await client.get("/register"), '[action="/register"]', fields)).assertRedirect(to);
  return client;
}

/** Where each page redirects a visitor, after checking that a page is shown in the end. */
async function visit(application: Application, client: () => Promise<TestClient>): Promise<(readonly string[])[]> {
  const led: (readonly string[])[] = [];
  for (const [path] of PAGES) {
    const visitor = await client();
    const answer = await visitor.get(path);
    const page = answer.redirectsTo === null ? answer : await visitor.follow(answer);
    // An invalid reset link is gone.
    const status = path.startsWith("/password_reset") ? 410 : 200;
    expect([path, page.status, page.text.includes("</html>")]).toEqual([path, status, true]);
    led.push([path, answer.redirectsTo ?? path]);
  }
  void application;
  return led;
}

await onEachDatabase("the generated pages", (engine) => {
  describe.for([
    { api: true, mustVerify: true },
    { api: true, mustVerify: false },
    { api: false, mustVerify: true },
    { api: false, mustVerify: false },
  ])("%j", (combination) => {
    const { mustVerify } = combination;

    test("respond to guests and users, with the right redirects", async () => {
      const { application, mail } = await started({ engine, ...combination });
      const guests = await visit(application, async () => createTestClient(application));
      expect(guests).toEqual(PAGES.map(([path, guest = path]) => [path, guest]));
      const user = await register(application, mustVerify ? "/email/verify/notice" : "/home");
      const users = await visit(application, async () => user);
      expect(users).toEqual(PAGES.map(([path, , to = path]) => [path, to]));
      const home = await user.get("/home");
      expect(home.text.includes("is not verified yet")).toBe(mustVerify);
      const sent = (await mail.all()).map(({ subject }) => subject);
      expect(sent).toEqual(mustVerify ? ["Verify your email address"] : []);
    });

    test("support an account from registration to a forgotten password", async () => {
      const { application, mail } = await started({ engine, ...combination });
      const client = await register(application, mustVerify ? "/email/verify/notice" : "/home");
      const notice = await client.get("/email/verify/notice");
      if (mustVerify) {
        (await client.submit(notice, '[action="/email/resend"]')).assertRedirect("/email/verify/notice");
        (await client.follow(await client.get(linksIn((await mail.all()).at(-1)!)[0]!))).assertSee("is verified");
        (await client.get("/email/verify/notice")).assertSee("is verified");
      } else {
        notice.assertSee("doesn't need to be verified");
        (await client.withCsrfToken().post("/email/resend")).assertRedirect("/home");
      }
      await mail.clear();
      const change = { email: "lovelace@example.com", password: PASSWORD };
      await client.submit(await client.get("/account/email"), '[action="/account/email"]', change);
      const follow = linksIn((await mail.all()).find(({ to }) => to === change.email)!)[0]!;
      (await client.follow(await client.get(follow))).assertStatus(200);
      const guest = createTestClient(application);
      await mail.clear();
      await guest.submit(await guest.get("/change_password"), '[action="/change_password"]', { email: change.email });
      const reset = await guest.get(linksIn((await mail.all()).at(-1)!)[0]!);
      const chosen = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
      (await guest.submit(reset, '[action="/password_reset"]', chosen)).assertRedirect("/login");
      const sent = { email: change.email, password: NEW_PASSWORD };
      const entered = await guest.submit(await guest.get("/login"), '[action="/login"]', sent);
      (await guest.follow(entered)).assertSee("Hello, Ada");
      (await guest.submit(await guest.get("/logins"), '[action="/logout"]')).assertRedirect("/login");
    });
  });

  test("without them, the front page is shown without account links, with and without an API", async () => {
    for (const api of [true, false]) {
      const { application } = await started({ engine, api, pages: false });
      const client = createTestClient(application);
      (await client.get("/")).assertStatus(200);
      for (const path of ["/login", "/home", "/register"]) (await client.get(path)).assertStatus(404);
    }
  });
});

test.for([
  ["the mail about new devices", "config/auth.ts", "newDevice: NewDeviceMail", "newDevice: null"],
  [
    "registration",
    "routes/web.ts",
    "Auth.routes(AuthControllers)",
    "Auth.routes(AuthControllers, { register: false })",
  ],
  [
    "account settings",
    "routes/web.ts",
    "Auth.routes(AuthControllers)",
    "Auth.routes(AuthControllers, { changeEmail: false, changePassword: false, logins: false })",
  ],
  [
    "forgotten passwords",
    "routes/web.ts",
    "Auth.routes(AuthControllers)",
    "Auth.routes(AuthControllers, { requestPasswordReset: false, resetPassword: false })",
  ],
] as const)("the generated pages work without %s", async ([, path, from, to]) => {
  const engine = { name: "sqlite" } as TestEngine;
  const { application, mail } = await started({ engine, api: true, changes: [[path, from, to]] });
  const { User } = await modelsOf(application);
  const user = new User().fill({ name: "Ada", email: EMAIL });
  await user.setPassword(PASSWORD);
  await user.save();
  await user.markEmailAsVerified();
  const client = createTestClient(application);
  const sent = { email: EMAIL, password: PASSWORD };
  const entered = await client.submit(await client.get("/login"), '[action="/login"]', sent);
  const home = await client.follow(entered);
  home.assertSee("Hello, Ada");
  for (const visitor of [client, createTestClient(application)]) {
    for (const [page] of PAGES) expect([page, (await visitor.get(page)).status < 500]).toEqual([page, true]);
  }
  expect((await mail.all()).length).toBe(from.startsWith("newDevice") ? 0 : 1);
});

test("a registration that waits for a login step is still mailed its verification link", async () => {
  const engine = { name: "sqlite" } as TestEngine;
  const steps = 'steps: [{ name: "terms", page: "terms", check: () => "pending" }],';
  const { application, mail } = await started({
    engine,
    api: true,
    changes: [
      ["config/auth.ts", "// steps: [terms],", steps],
      [
        "routes/web.ts",
        "export const ROUTES: RouteEntry[] = [",
        'export const ROUTES: RouteEntry[] = [\n  Route.get("/terms", () => "the terms").name("terms"),',
      ],
    ],
  });
  const client = await register(application, "/terms");
  (await client.get("/home")).assertRedirect("/terms");
  expect((await mail.all()).map(({ subject, to }) => [subject, to])).toEqual([["Verify your email address", EMAIL]]);
});

async function modelsOf({
  root,
}: Application): Promise<{ readonly User: typeof import("../support/account-application.ts").FullUser }> {
  return await import(join(root, "app/models/user.ts"));
}
