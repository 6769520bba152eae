import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { TestClient } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, PASSWORD } from "../support/account-shop.ts";
import { onEachDatabase } from "../support/services.ts";

const NEW = "new@example.org";
const FORM = '[action*="/email/verify/"]';

await onEachDatabase("a verification link", (engine) => {
  let shop: AccountShop;
  beforeAll(async () => {
    shop = await AccountShop.open(engine);
  });
  afterAll(() => shop.close());
  beforeEach(() => shop.reset());

  /** The account's address, and whether it is verified. */
  async function account(): Promise<readonly unknown[]> {
    const user = await shop.user();
    return [user?.email, user?.hasVerifiedEmail()];
  }

  async function registered(email: string): Promise<TestClient> {
    const client = shop.visitor();
    const fields = { name: "Bob", email, password: PASSWORD, password_confirmation: PASSWORD };
    (await shop.send(client, "/register", fields)).assertRedirect("/email/verify/notice");
    return client;
  }

  const links: readonly (readonly [string, (client: TestClient) => Promise<string>, string, string, string])[] = [
    [
      "to a new address",
      (client) => shop.changeLink(client, NEW),
      NEW,
      `Someone who is logged in to an account here asked to make ${NEW} its email address.`,
      `The email address of your account is already ${NEW}.`,
    ],
    [
      "to the first address",
      async (client) => {
        await shop.send(client, "/email/verify/notice", {}, '[action="/email/resend"]');
        return shop.linkTo(EMAIL);
      },
      EMAIL,
      "you want to use the address for an account here",
      "Your email address is already verified.",
    ],
  ];

  test.each(links)(
    "S59 %s has no effect by a GET or HEAD of any other visitor, but has one by the button",
    async (_, ask, to, words) => {
      const link = await ask(await shop.loggedIn());
      const stranger = await registered("bob@example.com");
      for (const client of [shop.visitor(), stranger]) {
        const page = await client.get(link);
        page.assertStatus(200).assertSee(words).assertHeader("referrer-policy", "no-referrer");
        page.assertHeader("cache-control", "private, no-store");
        (await client.send("HEAD", link)).assertStatus(200);
        (await client.post(link)).assertStatus(419);
      }
      expect(await account()).toEqual([EMAIL, false]);
      const client = shop.visitor();
      (await client.submit(await client.get(link), FORM)).assertRedirect("/login");
      expect(await account()).toEqual([to, true]);
    },
  );

  test.each(links)("S59 %s takes effect by a GET of the logged-in user, not by HEAD", async (_, ask, to) => {
    const client = await shop.loggedIn();
    const link = await ask(client);
    await client.send("HEAD", link);
    expect(await account()).toEqual([EMAIL, false]);
    (await client.get(link)).assertRedirect("/home");
    expect(await account()).toEqual([to, true]);
  });

  test.each(links)(
    "S59 %s that was used or is invalid is reported immediately, and its button has no effect",
    async (_, ask, to, _words, already) => {
      const link = await ask(await shop.loggedIn());
      const late = shop.visitor();
      const page = await late.get(link);
      await shop.verify(link);
      const client = shop.visitor();
      (await client.follow(await client.get(link))).assertSee(already);
      (await client.get(`${link}x`)).assertRedirect("/email/verify/notice");
      await (await shop.user())!.endAccess();
      (await late.submit(page, FORM)).assertRedirect("/login");
      expect(await account()).toEqual([to, true]);
    },
  );

  test("a changed address is reported, and that the account is logged out elsewhere, at home and on another device", async () => {
    const done = `The email address of your account is now ${NEW}. All other devices have been logged out.`;
    const client = await shop.loggedIn();
    (await client.follow(await client.get(await shop.changeLink(client, NEW)))).assertSee("Hello", done);
    const back = await shop.changeLink(client, EMAIL);
    const other = shop.visitor();
    const page = await other.follow(await other.submit(await other.get(back), FORM));
    page.assertSee("Log in", done.replace(NEW, EMAIL)).assertDontSee("verified");
    (await client.get("/home")).assertRedirect("/login");
  });
});
