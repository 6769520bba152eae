import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type TestClient, type TestResponse, travel, travelBack } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { desk } from "../support/desk.ts";
import { edit } from "../support/generated-application.ts";
import { sqlite } from "../support/services.ts";

const BOB = "bob@example.com";
const TEXT = "An answer of several sentences, typed with care.";
const ENDED = "You were logged out, so the form was not submitted. Log in, and submit it again.";
const KEPT = "What you typed will be filled in again, except for passwords and files.";

const ROUTES = `export const ROUTES: RouteEntry[] = [
  Route.view("/answers/new", "answer").middleware("auth"),
  Route.view("/answers/other", "answer").middleware("auth"),
  Route.post("/answers", () => "stored").middleware("auth"),
  Route.view("/keys", "key").middleware("auth"),
  Route.post("/keys", () => "stored").middleware("auth", "password.confirm:1"),
  Route.view("/letters", "letter").middleware("auth"),
  Route.post("/letters", () => "stored").middleware("auth", "verified"),`;

const page = (action: string) => `@component("layouts/sheet", { title: "Form" })
  <form method="post" action="${action}">{{ csrf_field }}
    <textarea name="text">{{ old("text") }}</textarea>
    <input name="email" value="{{ old("email") }}">
    <input type="password" name="password" value="{{ old("password") }}">
  </form>
@end
`;

let shop: AccountShop;
beforeAll(async () => {
  shop = await AccountShop.open(sqlite, {
    change: async (root) => {
      await edit(root, "routes/web.ts", ["export const ROUTES: RouteEntry[] = [", ROUTES]);
      for (const name of ["answer", "key", "letter"]) {
        await writeFile(join(root, `views/${name}.edge`), page(`/${name}s`));
      }
    },
  });
});
afterAll(() => shop.close());
beforeEach(() => shop.reset());
afterEach(travelBack);

async function logIn(client: TestClient, email = EMAIL, password = PASSWORD): Promise<TestResponse> {
  return client.submit(await client.get("/login"), '[action="/login"]', { email, password });
}

const run = async (name: string, ...args: string[]) => {
  expect((await desk(shop.application, name, ...args, "--by", "grace@desk")).error).toBeNull();
};
const typed = { text: TEXT, email: "typed@example.com", password: "typed by hand" };
const textOf = (page: TestResponse, action = "/answers") =>
  Object.fromEntries(page.form(`[action="${action}"]`).controls.map(({ name, value }) => [name, value]));

/** Ends a client's login, and returns the user's password after that. */
const ENDS: Readonly<Record<string, (client: TestClient) => Promise<unknown>>> = {
  "the operator's users:logout": () => run("users:logout", EMAIL),
  "the operator's users:block, then users:unblock": async () => {
    await run("users:block", EMAIL);
    await run("users:unblock", EMAIL);
  },
  "the operator's access:end-all": () => run("access:end-all", "--yes"),
  "another device that ends the other logins": async () => {
    const other = await shop.loggedIn();
    const page = await other.get("/logins");
    (await other.submit(page, '[action="/logins"]', {})).assertRedirect("/logins");
  },
  "another device that changes the password": async () => {
    const other = await shop.loggedIn();
    const page = await other.get("/account/password");
    const change = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    (await other.submit(page, '[action="/account/password"]', change)).assertRedirect("/home");
    return NEW_PASSWORD;
  },
  "a logout in another tab": async (client) => {
    const page = await client.get("/home");
    await client.follow(await client.submit(page, '[action="/logout"]'));
  },
  "its age, with that of the session": async () => void travel(60 * 24 * 60),
  "cookies that the browser has dropped": async (client) => void client.cookies.clear(),
};

test.each(Object.keys(ENDS))(
  "S163 a login that ends by %s loses none of the text that its user has typed",
  async (way) => {
    const client = await shop.loggedIn();
    const page = await client.get("/answers/new?about=ducks");
    const password = ((await ENDS[way]!(client)) as string | undefined) ?? PASSWORD;
    const answer = (await client.submit(page, '[action="/answers"]', typed)).assertRedirect("/login");
    const login = (await client.follow(answer)).assertSee(ENDED, KEPT);
    expect(login.text).not.toMatch(/with care|typed@|typed by/);
    // Neither a wrong password nor another form with inputs of the same names changes anything.
    await client.follow(await client.submit(login, '[action="/login"]', { email: EMAIL, password: "wrong password" }));
    const next = (await logIn(client, EMAIL, password)).assertRedirect("/answers/new?about=ducks");
    expect(textOf(await client.get("/answers/other")).text).toBe("");
    expect(textOf(await client.follow(next))).toMatchObject({ text: TEXT, email: typed.email, password: "" });
    // It is shown once.
    expect(textOf(await client.get("/answers/new?about=ducks")).text).toBe("");
  },
);

test.each(Object.keys(ENDS))("S163 another user who logs in after one ended by %s never sees it", async (way) => {
  const bob = new shop.User().fill({ name: "Bob", email: BOB });
  await bob.setPassword(PASSWORD);
  await bob.save();
  const client = await shop.loggedIn();
  const page = await client.get("/answers/new");
  await ENDS[way]!(client);
  await client.submit(page, '[action="/answers"]', typed);
  (await logIn(client, BOB)).assertRedirect("/answers/new");
  expect((await client.get("/answers/new")).text).not.toContain(TEXT);
  // It is gone, even from the session.
  await client.submit(await client.get("/home"), '[action="/logout"]');
  await logIn(client);
  expect((await client.get("/answers/new")).text).not.toContain(TEXT);
});

test.each([
  ["/answers/new", "/answers"],
  ["/keys", "/keys"],
])("S163 a form sent from %s after another user has logged in does not count as that user's", async (path, action) => {
  const bob = new shop.User().fill({ name: "Bob", email: BOB });
  await bob.setPassword(PASSWORD);
  await bob.save();
  const client = await shop.loggedIn();
  const page = await client.get(path);
  await client.follow(await client.submit(await client.get("/home"), '[action="/logout"]'));
  await logIn(client, BOB);
  const refused = (await client.submit(page, `[action="${action}"]`, typed)).assertStatus(419);
  expect(refused.text).toContain("Another user is logged in now, so what you typed was not kept.");
  expect(refused.text).not.toContain(TEXT);
  expect((await client.get(path)).text).not.toContain(TEXT);
});

test("S163 a form sent after a logout in another tab is not shown to the next user", async () => {
  const bob = new shop.User().fill({ name: "Bob", email: BOB });
  await bob.setPassword(PASSWORD);
  await bob.save();
  const client = await shop.loggedIn();
  const page = await client.get("/letters");
  await client.follow(await client.submit(await client.get("/home"), '[action="/logout"]'));
  await client.submit(page, '[action="/letters"]', typed);
  await logIn(client, BOB);
  expect((await client.get("/letters")).text).not.toContain(TEXT);
});

test("S163 a form is not kept for a user whom another site, or the sender, names", async () => {
  const client = await shop.loggedIn();
  const page = await client.get("/answers/new");
  const [, owner = ""] = /name="__owner" value="([\w-]+)"/.exec(page.text) ?? [];
  await run("users:logout", EMAIL);
  const sent = { ...typed, __owner: owner };
  await client.post("/answers", sent, { headers: { "sec-fetch-site": "same-site" } });
  for (const __owner of ["1", "users 1", `${owner}x`, owner.slice(1)]) {
    await client.post("/answers", { ...sent, __owner }, { headers: { "sec-fetch-site": "same-origin" } });
  }
  await logIn(client);
  expect((await client.get("/answers/new")).text).not.toContain(TEXT);
});

test("text that a session has no room for is reported as lost, and the login works", async () => {
  const client = await shop.loggedIn();
  const page = await client.get("/answers/new");
  await run("users:logout", EMAIL);
  const answer = await client.submit(page, '[action="/answers"]', { ...typed, text: TEXT.repeat(100) });
  (await client.follow(answer)).assertSee(ENDED, "Not everything you typed could be kept.");
  const back = await client.follow(await logIn(client));
  expect(textOf(back)).toMatchObject({ text: "", email: typed.email });
});

test("a form that waits for the password or a verified address is filled in again, too", async () => {
  const client = await shop.loggedIn();
  const keys = await client.get("/keys");
  const letters = await client.get("/letters");
  travel(2);
  const answer = (await client.submit(keys, '[action="/keys"]', typed)).assertRedirect("/confirm_password");
  const confirmed = await client.submit(await client.follow(answer), '[action="/confirm_password"]', {
    password: PASSWORD,
  });
  expect(textOf(await client.follow(confirmed.assertRedirect("/keys")), "/keys").text).toBe(TEXT);
  (await client.submit(letters, '[action="/letters"]', typed)).assertRedirect("/email/verify/notice");
  expect(textOf(await client.get("/letters"), "/letters").text).toBe(TEXT);
});
