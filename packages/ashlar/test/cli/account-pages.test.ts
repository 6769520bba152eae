import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Mailable } from "../../src/mail/index.ts";
import { linksIn, type TestClient, type TestResponse, travelBack } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, PASSWORD } from "../support/account-shop.ts";
import { sqlite } from "../support/services.ts";

let shop: AccountShop;
beforeAll(async () => {
  shop = await AccountShop.open(sqlite);
});
afterAll(() => shop.close());
beforeEach(() => shop.reset());
afterEach(travelBack);

/** The form on `/logins` that logs out the visitor's own device, or the only other one. */
function formOf(page: TestResponse, which: "own" | "other"): string {
  const entries = page.text.split("<li>").filter((text) => text.includes('action="/logins/'));
  const entry = entries.find((text) => text.includes("This device") === (which === "own"))!;
  return `[action="${/action="([^"]+)"/.exec(entry)![1]}"]`;
}

async function devices(client: TestClient): Promise<TestResponse> {
  return (await client.get("/logins")).assertStatus(200);
}

test("every mail has the same links as text and as HTML", async () => {
  const folder = join(shop.application.root, "app/mailables");
  const mailer = shop.application.container.make("mail");
  for (const file of await readdir(folder)) {
    const module = (await import(join(folder, file))) as Record<string, { preview?: () => Mailable }>;
    for (const { preview } of Object.values(module)) if (preview) await mailer.send(preview(), EMAIL);
  }
  const mails = await shop.mail.all();
  expect(mails).toHaveLength(11);
  for (const mail of mails) {
    const all = [...mail.html!.matchAll(/href="(http[^"]+)"/g)].map(([, link]) => link!.replaceAll("&amp;", "&"));
    // The application's name at the end links to its front page.
    const links = new Set(all.filter((link) => link !== shop.application.url));
    expect(links.size, mail.subject).toBeGreaterThan(0);
    expect(links, mail.subject).toEqual(new Set(linksIn(mail)));
  }
});

test("a mail says that a link valid for one day expires in 24 hours", async () => {
  await shop.register("bob@example.com", PASSWORD);
  const [mail] = await shop.mail.all();
  for (const body of [mail!.text, mail!.html]) expect(body).toContain("This link expires in 24 hours.");
});

test("/logins shows each device's address, and offers to log out all others if there are any", async () => {
  const client = await shop.loggedIn();
  const everyOther = "Log out all other devices";
  (await devices(client)).assertSee(/Last used .+ from 203\.0\.113\.7/).assertDontSee(everyOther);
  await shop.loggedIn();
  (await devices(client)).assertSee(everyOther);
});

test("logging out your own device leads to the login page", async () => {
  const client = await shop.loggedIn();
  await shop.loggedIn();
  const page = await devices(client);
  (await client.submit(page, formOf(page, "own"))).assertRedirect("/login");
  expect(await shop.isIn(client)).toBe(false);
});

test("logging out another device is confirmed, even if it was already logged out", async () => {
  const client = await shop.loggedIn();
  const other = await shop.loggedIn();
  const page = await devices(client);
  const form = formOf(page, "other");
  (await client.follow(await client.submit(page, form))).assertSee("Your devices", "The device has been logged out.");
  expect(await shop.isIn(other)).toBe(false);
  (await client.follow(await client.submit(page, form))).assertSee("That device was already logged out.");
});

test("a new verification link is sent only while the address is not verified", async () => {
  const client = await shop.loggedIn();
  const notice = await client.get("/email/verify/notice");
  const sent = await client.submit(notice, '[action="/email/resend"]');
  (await client.follow(sent.assertRedirect("/email/verify/notice"))).assertSee("We have sent you a new link.");
  await client.get(await shop.linkTo(EMAIL));
  await shop.mail.clear();
  const late = await client.submit(notice, '[action="/email/resend"]');
  const home = await client.follow(late.assertRedirect("/home"));
  home.assertSee("There is nothing left to verify.").assertDontSee("We have sent you");
  await shop.mail.assertNothingSent();
});

test("an API client gets a 422 for a refused new password, and the link stays valid", async () => {
  const link = await shop.resetLink(EMAIL);
  const token = new URL(link, "http://localhost").searchParams.get("token")!;
  const program = shop.visitor().withCsrfToken();
  const fields = { token, password: "short", password_confirmation: "short" };
  (await program.postJson("/password_reset", fields)).assertStatus(422).assertJsonPath("errors.password");
  expect(await shop.resetsPassword(link, "another password altogether")).toBe(true);
});
