import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { CapturedMail } from "../../src/mail/index.ts";
import { type TestClient, travel, travelBack } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { onEachDatabase } from "../support/services.ts";

const THIEF = "thief@example.org";
const SECOND = "second@example.org";
const IS_INVALID = "This link has expired or was already used.";

await onEachDatabase("a change of address", (engine) => {
  let shop: AccountShop;
  beforeAll(async () => {
    shop = await AccountShop.open(engine);
  });
  afterAll(() => shop.close());
  beforeEach(() => shop.reset());
  afterEach(travelBack);

  const email = async (): Promise<string | undefined> => (await shop.user())?.email;

  /**
   * A thief who knows the password changes the account's verified address; returns the link mailed to the owner.
   */
  async function stolen(to = THIEF): Promise<{ thief: TestClient; undo: string }> {
    await (await shop.user())!.markEmailAsVerified();
    const thief = await shop.loggedIn();
    (await thief.get(await shop.changeLink(thief, to))).assertRedirect("/home");
    expect(await email()).toBe(to);
    return { thief, undo: await shop.linkTo(EMAIL) };
  }

  test("S51 that is pending is invalid once the owner has reset the password", async () => {
    const thief = await shop.loggedIn();
    const link = await shop.changeLink(thief, THIEF);
    expect(await shop.resetsPassword(await shop.resetLink(EMAIL), NEW_PASSWORD)).toBe(true);
    for (const client of [thief, shop.visitor()]) (await client.get(link)).assertRedirect("/email/verify/notice");
    expect([await email(), await shop.logsIn(shop.visitor(), EMAIL, NEW_PASSWORD)]).toEqual([EMAIL, true]);
  });

  test("S51 that was requested by a client who registered another person's address is invalid once the owner takes over the account", async () => {
    const victim = "victim@example.com";
    const squatter = shop.visitor();
    const fields = { name: "V", email: victim, password: PASSWORD, password_confirmation: PASSWORD };
    (await shop.send(squatter, "/register", fields)).assertRedirect("/email/verify/notice");
    const link = await shop.changeLink(squatter, THIEF);
    expect(await shop.resetsPassword(await shop.resetLink(victim), NEW_PASSWORD)).toBe(true);
    await shop.verify(link, squatter);
    expect([await shop.isIn(squatter), await shop.logsIn(shop.visitor(), victim, NEW_PASSWORD)]).toEqual([false, true]);
    expect(await shop.User.findBy("email", THIEF)).toBeNull();
  });

  test("S52 that is undone ends a login in progress with the thief's password", async () => {
    const { undo } = await stolen();
    const find = shop.User.findByIdentifier;
    const parked = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
      shop.User.findByIdentifier = find;
      const user = await Reflect.apply(find, this, args);
      await shop.undo(undo);
      expect(await email()).toBe(EMAIL);
      return user;
    };
    shop.User.findByIdentifier = parked as typeof find;
    const thief = shop.visitor();
    await shop.logsIn(thief, THIEF, PASSWORD);
    expect(await shop.isIn(thief)).toBe(false);
  });

  test("S51 is valid for an hour", async () => {
    const link = await shop.changeLink(await shop.loggedIn(), THIEF);
    travel(60);
    await shop.verify(link);
    expect(await email()).toBe(EMAIL);
  });

  test("S51 that is completed is reported to the old address, with a link", async () => {
    await stolen();
    const { subject, text, html } = (await shop.mail.all()).findLast(({ to }) => to === EMAIL)!;
    expect(subject).toBe("Your email address was changed");
    expect(text).toContain(`The email address of your account is now ${THIEF}.`);
    expect(text).toContain("This link expires in 3 days.");
    expect(html).toContain("Undo the change");
  });

  test("S51 is undone with the button on a page, and never by GET or HEAD", async () => {
    const { thief, undo } = await stolen();
    const owner = shop.visitor();
    const page = await owner.get(undo);
    page.assertStatus(200).assertSee(EMAIL, "Undo the change").assertHeader("referrer-policy", "no-referrer");
    await owner.send("HEAD", undo);
    expect([await email(), await shop.isIn(thief)]).toEqual([THIEF, true]);
    (await owner.post(undo)).assertStatus(419);
    expect(await email()).toBe(THIEF);
    (await shop.undo(undo, owner)).assertRedirect(/^\/password_reset\?token=/);
    expect([await email(), (await shop.user())?.hasVerifiedEmail(), await shop.isIn(thief)]).toEqual([
      EMAIL,
      true,
      false,
    ]);
  });

  test("S51 once undone leaves the thief no access, and redirects the owner to set a new password", async () => {
    const { thief, undo } = await stolen();
    const pending = await shop.changeLink(thief, SECOND);
    const reset = await shop.resetLink(THIEF);
    const answer = await shop.undo(undo);
    await shop.verify(pending, thief);
    expect([await email(), await shop.isIn(thief), await shop.resetsPassword(reset, "of the thief")]).toEqual([
      EMAIL,
      false,
      false,
    ]);
    // The thief knows the password, and could log in again before the owner has set a new one.
    expect(await shop.logsIn(shop.visitor(), EMAIL, PASSWORD)).toBe(false);
    expect(await shop.resetsPassword(answer.headers.get("location")!, NEW_PASSWORD)).toBe(true);
    expect(await shop.logsIn(shop.visitor(), EMAIL, NEW_PASSWORD)).toBe(true);
  });

  test("S51 once undone is reported to the replaced address, with a remedy", async () => {
    const { undo } = await stolen();
    await shop.mail.clear();
    const page = await shop.visitor().get(undo);
    page.assertStatus(200);
    expect(await shop.mail.all()).toEqual([]);
    await shop.undo(undo);
    const [{ to, subject, text, html }, ...others] = (await shop.mail.all()) as [CapturedMail];
    expect([to, subject, others]).toEqual([THIEF, "Your email address change was undone", []]);
    for (const body of [text, html!.replaceAll(/&#(?:39|x27);/g, "'")]) {
      expect(body).toContain("again. We no longer send anything to thief@example.org.");
      expect(body).toContain(`If it wasn't you, someone else can read the email sent to ${EMAIL}.`);
      expect(body).toMatch(/https?:\/\/[^/]+\/change_password/);
      expect(body).not.toMatch(/email\/(?:undo|verify)|token=/);
    }
  });

  test("S51 can be undone whatever the thief has changed since, for 72 hours", async () => {
    const { thief, undo } = await stolen();
    const fields = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    (await shop.send(thief, "/account/password", fields)).assertRedirect("/home");
    await thief.get(await shop.changeLink(thief, SECOND, NEW_PASSWORD));
    expect(await email()).toBe(SECOND);
    travel(72 * 60 - 1);
    await shop.undo(undo);
    expect(await email()).toBe(EMAIL);
  });

  test("S51 cannot be undone after 72 hours", async () => {
    const { undo } = await stolen();
    travel(72 * 60);
    const owner = shop.visitor();
    (await owner.follow(await owner.get(undo))).assertSee(IS_INVALID);
    expect(await email()).toBe(THIEF);
  });

  test("S51 once undone also undoes later ones, and the link mailed to the thief for those is invalid", async () => {
    const { thief, undo } = await stolen();
    await thief.get(await shop.changeLink(thief, SECOND));
    const ofThief = await shop.linkTo(THIEF);
    await shop.undo(undo);
    const client = shop.visitor();
    (await client.follow(await client.get(ofThief))).assertSee(IS_INVALID);
    expect(await email()).toBe(EMAIL);
  });

  test("S51 that came later can be undone by the thief, and the first one by the owner after that", async () => {
    const { thief, undo } = await stolen();
    await thief.get(await shop.changeLink(thief, SECOND));
    await shop.undo(await shop.linkTo(THIEF));
    expect(await email()).toBe(THIEF);
    await shop.undo(undo);
    expect(await email()).toBe(EMAIL);
  });

  test("S51 is undone once: of 20 concurrent uses of the link, one has an effect", async () => {
    const { undo } = await stolen();
    const clients = Array.from({ length: 20 }, () => shop.visitor());
    const pages = await Promise.all(clients.map((client) => client.get(undo)));
    const told: unknown[] = [];
    const events = shop.application.container.make("events");
    const stop = events.on(
      "auth.email_change_undone",
      ({ previousEmail, email }) => void told.push([previousEmail, email]),
    );
    const answers = await Promise.all(
      clients.map((client, index) => client.submit(pages[index]!, '[action*="/email/undo/"]')),
    );
    await events.settled();
    stop();
    const targets = answers.map(({ headers }) => headers.get("location")!.split("?")[0]).toSorted();
    expect(targets).toEqual([...Array.from({ length: 19 }, () => "/login"), "/password_reset"]);
    expect([await email(), told]).toEqual([EMAIL, [[THIEF, EMAIL]]]);
  });

  const TAKEN = "This email address is already in use.";
  const registration = (email: string) => ({ name: "T", email, password: PASSWORD, password_confirmation: PASSWORD });

  /** Requests an address, and returns the message on the page after that. */
  async function refusal(client: TestClient, path: string, fields: object): Promise<string | undefined> {
    const answer = await shop.send(client, path, fields);
    const { text } = await client.follow(answer);
    return /<a href="#email">([^<]*)</.exec(text)?.[1];
  }

  async function registered(email: string): Promise<TestClient> {
    const client = shop.visitor();
    (await shop.send(client, "/register", registration(email))).assertRedirect("/email/verify/notice");
    return client;
  }

  test("S51 keeps the old address for its owner, so no other account can register it or change to it", async () => {
    const bob = await registered("bob@example.com");
    const { undo } = await stolen();
    await shop.mail.clear();
    const taken = await refusal(shop.visitor(), "/register", registration("bob@example.com"));
    expect([taken, await refusal(shop.visitor(), "/register", registration(EMAIL))]).toEqual([TAKEN, TAKEN]);
    expect(await refusal(bob, "/account/email", { email: EMAIL, password: PASSWORD })).toBe(TAKEN);
    // Bob is notified of the attempt. The old address belongs to no account, so it gets no mail.
    const mails = (await shop.mail.all()).map(({ to, subject }) => [to, subject]);
    expect(mails).toEqual([["bob@example.com", "You already have an account"]]);
    (await shop.undo(undo)).assertRedirect(/^\/password_reset\?token=/);
    expect((await shop.User.findBy("email", EMAIL))?.name).toBe("Ada");
  });

  test("S51 frees the old address after 72 hours, and an address that an undo has replaced immediately", async () => {
    const { undo } = await stolen();
    travel(72 * 60);
    await registered(EMAIL);
    travelBack();
    await shop.reset();
    const second = await stolen();
    expect(second.undo).not.toBe(undo);
    await shop.undo(second.undo);
    await registered(THIEF);
  });

  test("S51 can be taken back by a change of the same account", async () => {
    const { thief } = await stolen();
    await thief.get(await shop.changeLink(thief, EMAIL));
    expect(await email()).toBe(EMAIL);
  });

  test("S51 cannot complete one to an address that another account has left in the meantime, even concurrently", async () => {
    const others = await Promise.all([1, 2, 3, 4].map((count) => registered(`other-${count}@example.com`)));
    const links: string[] = [];
    for (const other of others) links.push(await shop.changeLink(other, SECOND));
    const ada = await shop.loggedIn();
    await ada.get(await shop.changeLink(ada, SECOND));
    expect((await shop.User.findBy("email", SECOND))?.name).toBe("Ada");
    const away = await shop.changeLink(ada, THIEF);
    const [client, ...rest] = others;
    await Promise.all([
      ada.get(away),
      ...rest.map((other, index) => other.get(links[index + 1]!)),
      ...[1, 2, 3].map(() => shop.send(shop.visitor(), "/register", registration(SECOND))),
    ]);
    expect((await shop.User.findBy("email", THIEF))?.name).toBe("Ada");
    expect(await shop.User.findBy("email", SECOND)).toBeNull();
    (await client!.get(links[0]!)).assertRedirect("/email/verify/notice");
    expect(await shop.User.findBy("email", SECOND)).toBeNull();
    const { length } = await shop.User.rows().get();
    expect(length).toBe(5);
  });

  test("S51 cannot be undone once the old address belongs to another account: a message says so, and nothing changes", async () => {
    const { thief, undo } = await stolen();
    const other = new shop.User().fill({ name: "Other", email: EMAIL });
    await other.setPassword(PASSWORD);
    await other.save();
    const owner = shop.visitor();
    const page = await owner.follow(await shop.undo(undo, owner));
    page.assertSee("Another account uses this address now, so the change was not undone.");
    const addresses = (await shop.User.rows().orderBy("id").get()).map((user) => user.email);
    expect([addresses, await shop.isIn(thief)]).toEqual([[THIEF, EMAIL], true]);
  });

  test("S51 cannot be undone on another account that got the key of a deleted one", async () => {
    const { undo } = await stolen();
    const user = (await shop.user())!;
    const { id } = user;
    await user.delete();
    travel(1);
    const other = new shop.User().fill({ name: "Other", email: "other@example.com" });
    await other.setPassword(PASSWORD);
    await other.save();
    const { kysely } = shop.application.container.make("database");
    await kysely.updateTable("users").set({ id }).execute();
    await shop.undo(undo);
    expect(await email()).toBe("other@example.com");
  });
});
