import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import { createTestClient, resetDatabase, type TestClient } from "../../src/testing/index.ts";
import type { FullUser } from "../support/account-application.ts";
import { bootApplication, userClass } from "../support/booted-application.ts";
import { generateApplication } from "../support/generated-application.ts";
import { addAdmins } from "../support/second-guard.ts";

const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";
const NEW_PASSWORD = "another password altogether";

let application: Application;
const classes: (typeof FullUser)[] = [];
let remove: () => Promise<void>;

beforeAll(async () => {
  const made = await generateApplication({});
  await addAdmins(made.root, [
    "export const ROUTES = [",
    `export const ROUTES = [
  Route.get("/desk", ({ view }) => view.render("desk", { action: "/desk/notes" })).middleware("auth"),
  Route.put("/desk/notes", () => "noted").middleware("auth"),
  Route.get("/admin/desk", ({ view }) => view.render("desk", { action: "/admin/notes" })).middleware("auth:admin"),
  Route.put("/admin/notes", () => "noted").middleware("guard:admin", "verified"),`,
  ]);
  await writeFile(
    join(made.root, "views/desk.edge"),
    `@component("layouts/sheet", { title: "Desk" })
  <form method="post" action="{{ action }}">
    {{ csrf_field }}
    <input type="hidden" name="__method" value="PUT">
    <input name="note">
  </form>
@end
`,
  );
  for (const name of ["User", "Admin"]) classes.push(await userClass(made.root, name));
  const booted = await bootApplication(made.root);
  ({ application } = booted);
  remove = async () => {
    await booted.end();
    await made.remove();
  };
});

afterAll(() => remove());

beforeEach(async () => {
  await resetDatabase(application);
  for (const Class of classes) {
    const user = new Class().fill({ name: "Ada", email: EMAIL });
    await user.setPassword(PASSWORD);
    await user.save();
  }
});

async function logIn(client: TestClient, prefix: string): Promise<TestClient> {
  const page = await client.get(`${prefix}/login`);
  (await client.submit(page, `[action="${prefix}/login"]`, { email: EMAIL, password: PASSWORD })).assertStatus(302);
  return client;
}

/** Logs out as another tab does: follows the redirect to the page after it. */
async function logOut(client: TestClient, prefix: string): Promise<void> {
  const page = await client.get(`${prefix}/logins`);
  await client.follow(await client.submit(page, `[action="${prefix}/logout"]`));
}

/** Everything that a form could have changed. */
async function everything(): Promise<unknown> {
  const { kysely } = application.container.make("database");
  const tables = ["users", "admins", "logins", "email_changes"] as const;
  return await Promise.all(
    tables.map((table) =>
      kysely
        .selectFrom(table as never)
        .selectAll()
        .execute(),
    ),
  );
}

const change = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };

test.each([
  ["", "/account/password", "/account/password", change],
  ["", "/account/email", "/account/email", { email: "new@example.com", password: PASSWORD }],
  ["", "/confirm_password", "/confirm_password", { password: PASSWORD }],
  ["", "/logins", "/logins", {}],
  ["", "/desk", "/desk/notes", { note: "a note of hers" }],
  ["/admin", "/admin/account/password", "/admin/account/password", change],
  ["/admin", "/admin/logins", "/admin/logins", {}],
  ["/admin", "/admin/desk", "/admin/notes", { note: "a note of hers" }],
] as const)(
  "sent after another tab has logged out, a form redirects to %s/login, and from there to its page: %s",
  async (prefix, path, action, values) => {
    const client = await logIn(createTestClient(application), prefix);
    await logIn(createTestClient(application), prefix);
    const stale = await client.get(path);
    await logOut(client, prefix);
    const before = await everything();
    const answer = await client.submit(stale, `[action="${action}"]`, values);
    answer.assertRedirect(`${prefix}/login`);
    expect(await everything()).toEqual(before);
    const page = (await client.follow(answer)).assertDontSee("a note of hers", "new@example.com", "expired");
    const login = { email: EMAIL, password: PASSWORD };
    (await client.submit(page, `[action="${prefix}/login"]`, login)).assertRedirect(path);
  },
);

test("a form redirects in the same way in a browser that no longer has a session", async () => {
  const client = await logIn(createTestClient(application), "");
  const stale = await client.get("/account/password");
  client.cookies.clear();
  const answer = await client.submit(stale, '[action="/account/password"]', change);
  const page = await client.follow(answer.assertRedirect("/login"));
  const login = await client.submit(page, '[action="/login"]', { email: EMAIL, password: PASSWORD });
  login.assertRedirect("/account/password");
});

test("a guard's form is refused as usual if its user is logged in, even if the other guard's is not", async () => {
  const client = await logIn(await logIn(createTestClient(application), ""), "/admin");
  const sent = { __method: "PUT" };
  for (const path of ["/desk/notes", "/admin/notes"]) (await client.post(path, sent)).assertStatus(419);
  await logOut(client, "/admin");
  (await client.post("/desk/notes", sent)).assertStatus(419);
  (await client.post("/admin/notes", sent)).assertRedirect("/admin/login");
});

test("S163 a form from one guard's user is not taken for another's because of the other guard's user", async () => {
  const client = await logIn(await logIn(createTestClient(application), ""), "/admin");
  for (const prefix of ["", "/admin"]) {
    const page = await client.get(`${prefix}/desk`);
    for (const { name } of client.cookies.all) if (!name.endsWith("token")) client.cookies.delete(name);
    const sent = { note: "a note of hers" };
    const answer = await client.submit(page, `[action="${prefix === "" ? "/desk" : prefix}/notes"]`, sent);
    answer.assertStatus(419).assertDontSee("Another user is logged in now");
  }
});

test("a caller that accepts JSON gets a code, and another site's page is not redirected", async () => {
  const client = createTestClient(application);
  const codes: string[] = [];
  for (const path of ["/account/password", "/desk/notes"]) {
    const answer = await client.post(path, { __method: "PUT" }, { headers: { accept: "application/json" } });
    codes.push((answer.json as { code: string }).code);
    (await client.post(path, { __method: "PUT" }, { headers: { "sec-fetch-site": "cross-site" } })).assertStatus(419);
  }
  expect(codes).toEqual(["E_CSRF", "E_CSRF"]);
});
