import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import { createTestClient, resetDatabase, type TestClient } from "../../src/testing/index.ts";
import type { FullUser } from "../support/account-application.ts";
import { bootApplication, userClass } from "../support/booted-application.ts";
import { edit, generateApplication } from "../support/generated-application.ts";

const PASSWORD = "a password of hers";
const HERE = { headers: { "sec-fetch-site": "same-origin" } };

let application: Application;
let User: typeof FullUser;
let remove: () => Promise<void>;

beforeAll(async () => {
  const made = await generateApplication({});
  await edit(made.root, "routes/web.ts", [
    "export const ROUTES: RouteEntry[] = [",
    `export const ROUTES: RouteEntry[] = [
  Route.get("/order", ({ view }) => view.render("order")),
  Route.post("/order", () => "ordered"),
  Route.post("/elsewhere", () => "done"),
  Route.get("/silent", () => "a form without messages"),
  Route.post("/silent", () => "done"),
  Route.get("/invitation", async ({ auth, response, view }) => {
    return (await auth.check()) ? response.redirect("/order").status(307) : view.render("order");
  }),
  Route.post("/invitation", () => "accepted"),
  Route.post("/upload", () => "taken").middleware("api"),
  Route.post("/upload/apart", () => "taken").middleware("api").withoutMiddleware("web"),`,
  ]);
  await writeFile(
    join(made.root, "views/order.edge"),
    `@component("layouts/sheet", { title: "Order" })
  <form method="post" action="/order">{{ csrf_field }}
    @!field({ name: "article", label: "Article" })
    @!field({ name: "password", label: "Password", type: "password" })
  </form>
@end
`,
  );
  User = await userClass(made.root);
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
  for (const name of ["Ada", "Bob"]) {
    const user = new User().fill({ name, email: `${name.toLowerCase()}@example.com` });
    await user.setPassword(PASSWORD);
    await user.save();
  }
});

const credentials = { email: "ada@example.com", password: PASSWORD };

async function loggedIn(client: TestClient = createTestClient(application)): Promise<TestClient> {
  await client.submit(await client.get("/login"), '[action="/login"]', credentials);
  expect(await client.user()).toMatchObject({ name: "Ada" });
  return client;
}

describe("two tabs", () => {
  test("a login form sent after another tab has logged in redirects like the login", async () => {
    const client = createTestClient(application);
    const stale = await client.get("/login");
    await loggedIn(client);
    (await client.submit(stale, '[action="/login"]', credentials)).assertRedirect("/home");
  });

  test("S26: a login form sent after another tab has logged in does not log in another user, and shows a message", async () => {
    const client = createTestClient(application);
    const stale = await client.get("/login");
    await loggedIn(client);
    const cookie = client.cookies.find("token")?.value;
    const answer = await client.submit(stale, '[action="/login"]', { email: "bob@example.com", password: PASSWORD });
    (await client.follow(answer)).assertSee("Hello, Ada", "You were already logged in, so the form was not submitted.");
    expect(client.cookies.find("token")?.value).toBe(cookie);
    expect(await client.user()).toMatchObject({ name: "Ada" });
  });

  test("a registration sent after another tab has logged in creates no account, and shows a message", async () => {
    const client = createTestClient(application);
    const stale = await client.get("/register");
    await loggedIn(client);
    const fields = { name: "Eve", email: "eve@example.com", password: PASSWORD, password_confirmation: PASSWORD };
    const answer = await client.submit(stale, '[action="/register"]', fields);
    answer.assertRedirect("/home");
    (await client.follow(answer)).assertSee("Hello, Ada", "You were already logged in, so the form was not submitted.");
    expect(await User.findBy("email", "eve@example.com")).toBeNull();
  });

  test("a form whose page redirects logged-in users redirects to the same page, without its input", async () => {
    const client = createTestClient(application);
    expect((await client.post("/invitation", { article: "a lamp" }, HERE)).status).toBe(419);
    await loggedIn(client);
    const answer = await client.post("/invitation", { article: "a lamp" }, HERE);
    answer.assertStatus(303).assertRedirect("/order");
    const page = (await client.follow(answer)).assertSee("The page had expired, so the form was not submitted.");
    page.assertDontSee("Submit the form again");
    expect(page.text).not.toContain("a lamp");
    (await client.get("/order")).assertDontSee("had expired");
  });

  test("a second logout redirects to the login page", async () => {
    const client = await loggedIn();
    const page = await client.get("/home");
    await client.submit(page, '[action="/logout"]');
    (await client.submit(page, '[action="/logout"]')).assertRedirect("/login");
  });

  test("S26: a logout from an expired page logs no one out", async () => {
    const client = await loggedIn();
    const page = await client.get("/home");
    await client.submit(await client.get("/confirm_password"), '[action="/confirm_password"]', { password: PASSWORD });
    // The form's page has a different path, and the token no longer proves which one, so the visitor has to go back
    // there.
    const answer = (await client.submit(page, '[action="/logout"]')).assertStatus(419);
    answer.assertSee("The page had expired, and nothing was changed. Go back to it", "Back to the page");
    answer.assertDontSee("you typed");
    expect(answer.headers.get("location")).toBeNull();
    expect(answer.text).toContain('<a class="button" href="/home">Back to the page</a>');
    expect(await client.user()).toMatchObject({ name: "Ada" });
    (await client.get("/home")).assertSee("Hello, Ada").assertDontSee("had expired");
    // The error page's own button works as well.
    (await client.submit(answer, '[action="/logout"]')).assertRedirect("/login");
    await client.assertGuest();
  });

  test("S26: a login form without the session's token logs no one in", async () => {
    const client = createTestClient(application);
    for (const headers of [{}, HERE.headers]) {
      (await client.post("/login", credentials, { headers })).assertStatus(419);
      await client.assertGuest();
    }
  });

  test("S27: another site's page cannot learn either from the response", async () => {
    const client = await loggedIn();
    const headers = { "sec-fetch-site": "cross-site" };
    (await client.post("/login", credentials, { headers })).assertStatus(419).assertDontSee("Ada");
    (await createTestClient(application).post("/logout", {}, { headers })).assertStatus(419);
  });
});

describe("a form whose page has expired", () => {
  const typed = { article: "a lamp <b>", password: "typed by hand", __token: "of another session" };

  test("is shown again with 419 and the typed input, without passwords, and can be sent immediately", async () => {
    const client = createTestClient(application);
    await client.get("/order");
    const page = await client.post("/order", typed, HERE);
    page.assertStatus(419).assertSee("The page had expired, and nothing was changed.").assertDontSee("typed by hand");
    expect(page.form('[action="/order"]').controls.find(({ name }) => name === "article")?.value).toBe("a lamp <b>");
    expect(page.headers.get("cache-control")).toContain("no-store");
    expect((await client.get("/order")).text).not.toMatch(/had expired|a lamp/);
    (await client.submit(page, '[action="/order"]', {})).assertStatus(200).assertSee("ordered");
  });

  test("is shown again with the typed input even without a session, if its body is small enough", async () => {
    const body = new URLSearchParams(typed).toString();
    for (const [length, isKept] of [
      [body.length, true],
      [1024 * 1024, true],
      [1024 * 1024 + 1, false],
      [null, false],
    ] as const) {
      const headers = {
        ...HERE.headers,
        "content-type": "application/x-www-form-urlencoded",
        ...(length !== null && { "content-length": String(length) }),
      };
      const request = new Request(`${application.url}/order`, { method: "POST", headers, body });
      const text = await (await application.fetch(request)).text();
      expect([text.includes("The page had expired"), text.includes("a lamp &lt;b&gt;")]).toEqual([true, isKept]);
    }
  });

  test("S26: is not filled in unless the request shows that a page of this site sent it", async () => {
    const client = createTestClient(application);
    await client.get("/order");
    for (const headers of [
      {},
      { "sec-fetch-site": "none" },
      { "sec-fetch-site": "same-site" },
      { referer: `${application.url}/order` },
    ]) {
      // Compare the markup, because the input is in an attribute.
      const { status, text } = await client.post("/order", typed, { headers });
      expect([status, text.includes("a lamp")]).toEqual([419, false]);
      expect((await client.get("/order")).text).not.toContain("a lamp");
    }
    expect((await client.post("/order", typed, HERE)).text).toContain("a lamp");
  });

  test("shows one message with one link if its page shows no messages", async () => {
    const client = await loggedIn();
    const page = await client.post("/silent", typed, HERE);
    page
      .assertStatus(419)
      .assertSee("Go back, reload the page, and submit the form again.")
      .assertDontSee("Submit the form again");
    expect(page.text.match(/had expired|has expired/g)).toHaveLength(1);
    (await client.get("/order")).assertDontSee("had expired");
  });

  test("without a page at its path gets an error page with a remedy, or a problem document in JSON", async () => {
    const client = createTestClient(application);
    (await client.post("/elsewhere", typed, HERE)).assertStatus(419).assertSee("The page has expired.");
    const headers = { accept: "application/json" };
    const { code } = (await client.post("/order", typed, { headers })).assertStatus(419).json as { code: string };
    expect(code).toBe("E_CSRF");
  });
});

test("S26: a page's route with the stack api requires a CSRF token in addition to the bearer token, unless it leaves web out", async () => {
  const client = createTestClient(application);
  const answer = await client.post("/api/auth", { username: credentials.email, password: PASSWORD });
  client.withToken((answer.json as { data: string }).data);
  const { code } = (await client.post("/upload")).assertStatus(419).json as { code: string };
  expect(code).toBe("E_CSRF");
  (await client.post("/upload/apart")).assertStatus(200).assertSee("taken");
  (await createTestClient(application).post("/upload/apart")).assertStatus(401);
});

test("S33: a throttled form is shown again with 429, Retry-After and the typed input, without the password", async () => {
  const client = createTestClient(application, { address: "203.0.113.9" });
  const wrong = { email: "ada@example.com", password: "a wrong password" };
  const form = '[action="/login"]';
  let page = await client.get("/login");
  for (let guess = 0; guess < 5; guess++) page = await client.follow(await client.submit(page, form, wrong));
  page = await client.submit(page, form, wrong);
  page.assertStatus(429).assertSee("Too many attempts. Try again in").assertDontSee(wrong.password);
  expect(Number(page.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(page.form(form).controls.find(({ name }) => name === "email")?.value).toBe(wrong.email);
  expect((await client.get("/login")).text).not.toContain("Too many attempts");
  (await client.submit(page, form, wrong)).assertStatus(429);
});
