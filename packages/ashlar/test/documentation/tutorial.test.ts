import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestClient, TestResponse } from "../../src/testing/index.ts";
import { TutorialReader } from "../support/tutorial-reader.ts";

// The tutorial, followed from its first page to its last: each test is a page, and needs those before it. A reader types
// the commands and writes the files that the page shows; the test itself does what a checkpoint says to do in a browser.
let reader: TutorialReader;
beforeAll(async () => {
  reader = await TutorialReader.begin();
});
afterAll(() => reader.end());

const password = "a password of hers";

/** A browser in which no one is logged in, and one of each user. */
let guest: TestClient;
let ada: TestClient;
let eve: TestClient;

/** Goes to a page, wherever it leads. */
async function open(client: TestClient, path: string): Promise<TestResponse> {
  return await client.follow(await client.get(path));
}

/** Fills in a form of a page, and sees what comes next. */
async function send(
  client: TestClient,
  page: TestResponse,
  ...form: readonly [selector: string, values?: Record<string, string>]
): Promise<TestResponse> {
  const [selector, values = {}] = form;
  return await client.follow(await client.submit(page, selector, values));
}

async function register(client: TestClient, name: string): Promise<TestResponse> {
  const email = `${name.toLowerCase()}@example.com`;
  const attributes = { name, email, password, password_confirmation: password };
  return await send(client, await open(client, "/register"), '[action="/register"]', attributes);
}

async function logIn(client: TestClient, page: TestResponse, name: string): Promise<TestResponse> {
  return await send(client, page, '[action="/login"]', { email: `${name.toLowerCase()}@example.com`, password });
}

async function logOut(client: TestClient): Promise<TestResponse> {
  return await send(client, await open(client, "/home"), '[action="/logout"]');
}

/** The mails in the development mailbox, newest first. */
async function mailbox(): Promise<readonly TestResponse[]> {
  const list = await guest.get("/dev/mailbox");
  return await Promise.all(
    [...list.text.matchAll(/href="(\/dev\/mailbox\/\d+)"/g)].map(([, path]) => guest.get(path!)),
  );
}

/** The address that the button of a mail leads to. */
function linkOf(mail: TestResponse | undefined): string {
  const [, link] = /href="(http[^"]+)"/.exec(mail?.text ?? "") ?? [];
  return link ?? expect.unreachable("The mail has no link.");
}

test("the first page lists the requirements", async () => {
  await reader.follow("docs/tutorial/index.md");
});

test("step 1: a new application has accounts", async () => {
  await reader.follow("docs/tutorial/1-a-new-application.md");
  [guest, ada, eve] = [await reader.visitor(), await reader.visitor(), await reader.visitor()];

  (await guest.get("/")).assertStatus(200).assertSee("Register", "Log in");
  (await register(ada, "Ada")).assertSee(reader.told("We sent a link to ada@example.com."));
  await expect.poll(async () => (await mailbox()).length).toBe(1);
  const [mail] = await mailbox();
  mail!.assertSee(reader.told("Verify your email address"));
  const home = await open(ada, linkOf(mail));
  home.assertSee(reader.told("Hello, Ada"), reader.told("Your email address is verified."));
  expect(new URL(home.url).pathname).toBe(reader.told("/home"));
  (await logOut(ada)).assertSee("You have been logged out.");
  (await logIn(ada, await open(ada, "/home"), "Ada")).assertSee("Hello, Ada");
});

test("step 2: a route, a controller and a view are a page, and its values are escaped", async () => {
  await reader.follow("docs/tutorial/2-your-first-page.md");

  const page = await open(guest, "/issues");
  page
    .assertStatus(200)
    .assertSee(reader.told("The logo is blurry on phones"), reader.told("Titles with <b>tags</b> look odd"));
  expect(page.text).not.toContain("<b>tags");
  const [, css] = /href="(\/tracker\.css[^"]*)"/.exec(page.text) ?? [];
  (await guest.get(css!)).assertStatus(200).assertSee("textarea");
  expect((await open(guest, "/login")).text).toContain('<a href="/issues">Issues</a>');
});

test("step 3: issues are in the database, ten on a page", async () => {
  await reader.follow("docs/tutorial/3-issues-in-the-database.md");
  await reader.check();

  const first = await open(guest, "/issues");
  first.assertSee(reader.told("Example issue 25"), reader.told("Example issue 16"), "open");
  first.assertDontSee("Example issue 15", "Newer");
  const second = await open(guest, linkNamed(first, "Older"));
  expect(second.url).toMatch(/\/issues\?page=2$/);
  second.assertSee(reader.told("Example issue 15"), "Example issue 6", "Newer");
  const third = await open(guest, linkNamed(second, "Older"));
  third.assertSee("Example issue 5", reader.told("Example issue 1")).assertDontSee("Older");
  (await open(guest, reader.told("/issues?page=x")))
    .assertStatus(422)
    .assertSee(reader.told('The field "page" must be a whole number.'));
});

test("step 4: issues are created, edited and closed with forms", async () => {
  await reader.follow("docs/tutorial/4-forms.md");
  await reader.check();

  await logOut(ada);
  const form = await open(ada, linkNamed(await open(ada, "/issues"), reader.told("New issue")));
  form.assertSee("Log in");
  const empty = await logIn(ada, form, "Ada");
  empty.assertSee("New issue");
  const invalid = await send(ada, empty, '[action="/issues"]', {
    title: reader.told("Search finds nothing"),
    body: " ",
  });
  expect(invalid.text.split(reader.told("Describe what happened."))).toHaveLength(3);
  expect(invalid.form('[action="/issues"]').value("title")).toBe("Search finds nothing");
  const created = await send(ada, invalid, '[action="/issues"]', { body: "First line.\nSecond line." });
  created.assertSee(reader.told("Issue #26 has been created."), "Search finds nothing", "First line.");
  const edit = await open(ada, linkNamed(created, "Edit"));
  expect(edit.form('[action="/issues/26"]').value("body")).toBe("First line.\nSecond line.");
  const title = reader.told("Search finds nothing at all");
  const saved = await send(ada, edit, '[action="/issues/26"]', { title });
  saved.assertSee(reader.told("Your changes have been saved."), title);
  const closed = await send(ada, saved, "#close");
  closed.assertSee(reader.told("Issue #26 is closed."), "closed").assertDontSee(reader.told("Close issue"));
  (await open(guest, reader.told("/issues/999"))).assertStatus(404).assertSee(reader.told("Page not found"));
  // What the page says about forms without their hidden inputs.
  (await ada.post("/issues", { title: "x", body: "x" }))
    .assertStatus(419)
    .assertSee(reader.told("The page had expired, and nothing was changed."));
});

test("step 5: only authors can change their issues, and only verified users can write", async () => {
  await reader.follow("docs/tutorial/5-who-may-do-what.md");
  await reader.check();

  (await open(ada, "/issues")).assertSee(reader.told("by Grace"), reader.told("by Ada"));
  (await open(ada, "/issues/25")).assertStatus(200).assertDontSee("Edit", "Close issue");
  (await open(ada, reader.told("/issues/25/edit")))
    .assertStatus(403)
    .assertSee(reader.told("Only its author can change an issue."));
  (await open(ada, "/issues/26")).assertSee("Edit");
  await register(eve, "Eve");
  expect((await open(eve, "/issues/create")).url).toMatch(/\/email\/verify\/notice$/);
});

test("step 6: a comment is mailed to the issue's author", async () => {
  await reader.follow("docs/tutorial/6-comments-and-mail.md");
  await reader.check();

  const comment = reader.told("I can see this, too.");
  const added = await send(ada, await open(ada, "/issues/25"), "#comments", { comment });
  added.assertSee(reader.told("Your comment has been added."), comment);
  await expect.poll(async () => (await mailbox()).length).toBe(1);
  (await open(eve, "/issues/25"))
    .assertSee(reader.told("Verify your email address to add a comment."))
    .assertDontSee("Add comment");
  await send(ada, await open(ada, "/issues/26"), "#comments", { comment: "It is about the index." });
  const [mail, ...others] = await mailbox();
  expect(others).toEqual([]);
  mail!.assertSee(reader.told("grace@example.com"), reader.told("New comment on #25"), "Ada has commented", comment);
  (await open(ada, linkOf(mail))).assertSee("Example issue 25", comment);
  (await open(guest, "/dev/mailbox/preview/CommentCreatedMail"))
    .assertStatus(200)
    .assertSee("Which browser do you use?");
});

test("step 7: API clients do the same with a token", async () => {
  // The next page changes none of its files, and they are checked then.
  await reader.follow("docs/tutorial/7-an-api.md");

  (await open(guest, "/issues")).assertSee(/Created by curl open #27 by Ada/);
});

test("step 8: the application's own tests pass", async () => {
  await reader.follow("docs/tutorial/8-tests.md");
  await reader.check();
});

test("step 9: limits apply, and the list is in German too", async () => {
  // The next page begins by checking it.
  await reader.follow("docs/tutorial/9-limits-and-languages.md");

  const page = await guest.withLanguage("de").get("/issues");
  page.assertSee("Meldungen", "27 Meldungen", "Nr. 27 von Ada", "erledigt", "Ältere");
  const create = async (body = "And again."): Promise<TestResponse> =>
    await send(ada, await open(ada, "/issues/create"), '[action="/issues"]', {
      title: "Once more",
      body,
    });
  for (let n = 1; n <= 6; n++) (await create(" ")).assertStatus(200).assertSee("Describe what happened.");
  for (let n = 1; n <= 5; n++) (await create()).assertStatus(200).assertSee("has been created.");
  (await create()).assertStatus(429).assertSee(reader.told("Too many attempts. Try again in 10 minutes."));
});

test("step 10: it runs in production from a fresh clone", async () => {
  await reader.follow("docs/tutorial/10-ready-for-production.md");

  const visitor = await reader.visitor();
  (await visitor.get("/issues")).assertStatus(200).assertSee(reader.told("There are no issues yet."));
  (await visitor.get("/dev/mailbox")).assertStatus(404).assertSee(reader.told("Page not found"));
  (await register(visitor, "Ada")).assertSee("We sent a link to ada@example.com.");
});

/** The address of the link with this text. */
function linkNamed(page: TestResponse, text: string): string {
  const [, path] = new RegExp(`<a [^>]*href="([^"]+)"[^>]*>${text}</a>`).exec(page.text) ?? [];
  return path?.replaceAll("&amp;", "&") ?? expect.unreachable(`The page has no link "${text}".`);
}
