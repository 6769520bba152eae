import { AsyncLocalStorage } from "node:async_hooks";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { EMAIL_TAKEN_LIMIT } from "../../src/auth/accounts/limits.ts";
import { travel, travelBack } from "../../src/testing/index.ts";
import { AccountShop, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { onEachDatabase, testWhere } from "../support/services.ts";

const OF_ATTACKER = "a password of the attacker";
const VERIFY = "Verify your email address";
const FINISH = "Finish creating your account";
const TAKEN = "You already have an account";

let count = 0;

await onEachDatabase("with preventEnumeration, an address that is registered again before it is verified", (engine) => {
  let shop: AccountShop;
  let address: string;
  beforeAll(async () => {
    shop = await AccountShop.open(engine, { preventEnumeration: true });
  });
  afterAll(() => shop.close());
  beforeEach(async () => {
    await shop.reset();
    // Limits count by address, and outlive a test.
    address = `owner-${++count}@example.com`;
  });
  afterEach(travelBack);

  const subjects = async (): Promise<string[]> =>
    (await shop.mail.all()).filter(({ to }) => to === address).map(({ subject }) => subject);

  const user = () => shop.User.findBy("email", address);

  const isVerified = async () => (await user())?.hasVerifiedEmail();

  /** Which of these passwords can log in to the account. */
  async function opening(...passwords: readonly string[]): Promise<string[]> {
    const open: string[] = [];
    for (const password of passwords) {
      if (await shop.logsIn(shop.visitor(), address, password)) open.push(password);
    }
    return open;
  }

  test.each([
    ["the attacker before the owner", OF_ATTACKER, PASSWORD],
    ["the owner before the attacker", PASSWORD, OF_ATTACKER],
  ])("S58 by %s can only be opened with the password chosen after the owner's click", async (_, first, second) => {
    expect((await shop.register(address, first)).headers.get("location")).toBe("/login");
    const link = await shop.linkTo(address);
    const visitor = shop.visitor();
    (await shop.register(address, second, visitor)).assertRedirect("/login");
    (await visitor.get("/login")).assertSee("We have sent you an email. Follow the link in it, then log in.");
    expect(await subjects()).toEqual([VERIFY, FINISH]);

    // The page of an expired link.
    const owner = shop.visitor();
    (await owner.follow(await shop.verify(link, owner))).assertSee("This link is no longer valid.");
    expect([await isVerified(), await opening(first, second)]).toEqual([false, []]);

    expect(await shop.resetsPassword(await shop.linkTo(address), NEW_PASSWORD)).toBe(true);
    expect([await isVerified(), await opening(first, second, NEW_PASSWORD)]).toEqual([true, [NEW_PASSWORD]]);
    await shop.verify(link);
    expect(await opening(first, second)).toEqual([]);
  });

  test("gets a link in a matching mail, as text and HTML", async () => {
    await shop.register(address, OF_ATTACKER);
    await shop.register(address, PASSWORD);
    const { text, html } = (await shop.mail.all()).at(-1)!;
    for (const body of [text, html]) {
      expect(body).toContain("An account with this email address was started before, but never finished.");
      expect(body).toMatch(/Choose a password to finish it/);
      expect(body).toMatch(/https?:\/\/[^/]+\/password_reset\?token=/);
      expect(body).toContain("works once, within 24 hours");
      expect(body).toContain("Links that we mailed you earlier no longer work.");
      // As a separate word, because the link's token may contain these letters.
      expect(body).not.toMatch(/\bAda\b/);
    }
  });

  test("logs out every login of that account", async () => {
    await shop.register(address, OF_ATTACKER);
    const attacker = await shop.visitor().actingAs((await user())!);
    expect(await shop.isIn(attacker)).toBe(true);
    await shop.register(address, PASSWORD);
    expect(await shop.isIn(attacker)).toBe(false);
  });

  test("S58 12 times concurrently cannot be opened with any of these passwords, and gets one link", async () => {
    const passwords = Array.from({ length: 12 }, (_, index) => `the password number ${index}`);
    await Promise.all(passwords.map((password) => shop.register(address, password)));
    const mails = (await shop.mail.all()).filter(({ to }) => to === address);
    expect((await subjects()).toSorted()).toEqual([FINISH, VERIFY]);
    await shop.verify(linkOf(mails.find(({ subject }) => subject === VERIFY)!.text));
    expect([await isVerified(), await opening(...passwords)]).toEqual([false, []]);
    const finish = linkOf(mails.find(({ subject }) => subject === FINISH)!.text);
    expect(await shop.resetsPassword(finish, NEW_PASSWORD)).toBe(true);
    expect(await opening(NEW_PASSWORD, ...passwords.slice(0, 2))).toEqual([NEW_PASSWORD]);
  });

  test("S58 while its link is opened is either verified, or its password is invalidated, never both", async () => {
    const outcomes: unknown[] = [];
    for (let round = 0; round < 8; round++) {
      address = `racing-${engine.name}-${round}@example.com`;
      await shop.register(address, OF_ATTACKER);
      const link = await shop.linkTo(address);
      await Promise.all([shop.verify(link), shop.register(address, PASSWORD)]);
      const mails = (await subjects()).slice(1);
      outcomes.push([await isVerified(), await opening(OF_ATTACKER), mails]);
    }
    const verified = [true, [OF_ATTACKER], [TAKEN]];
    const voided = [false, [], [FINISH]];
    for (const outcome of outcomes) expect([verified, voided]).toContainEqual(outcome);
  });

  // On SQLite, nothing can write between the transaction's reads and its writes.
  testWhere(
    engine.name !== "sqlite",
    "S58 and verified just before its link would be invalidated keeps its password, and gets a mail about the attempt",
    async () => {
      await shop.register(address, PASSWORD);
      const link = await shop.linkTo(address);
      // The link is opened by another request: outside of the transaction in which the account is read.
      const elsewhere = AsyncLocalStorage.snapshot();
      const { findBy } = shop.User;
      let reads = 0;
      shop.User.findBy = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
        const found = await Reflect.apply(findBy, this, args);
        // The first read comes from the code that notifies the owner.
        if (++reads === 1) await elsewhere(() => shop.verify(link));
        return found;
      } as typeof findBy;
      try {
        await shop.register(address, OF_ATTACKER);
      } finally {
        shop.User.findBy = findBy;
      }
      expect(reads).toBeGreaterThan(1);
      expect([await isVerified(), await subjects()]).toEqual([true, [VERIFY, TAKEN]]);
      expect(await opening(PASSWORD, OF_ATTACKER)).toEqual([PASSWORD]);
    },
  );

  test("S58 and invalidated just before its link would verify it stays unverified", async () => {
    await shop.register(address, OF_ATTACKER);
    const client = shop.visitor();
    const page = await client.get(await shop.linkTo(address));
    const { findByAuthId } = shop.User;
    shop.User.findByAuthId = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
      shop.User.findByAuthId = findByAuthId;
      const found = await Reflect.apply(findByAuthId, this, args);
      await shop.register(address, PASSWORD);
      return found;
    } as typeof findByAuthId;
    const answer = await client.submit(page, '[action*="/email/verify/"]');
    (await client.follow(answer)).assertSee("This link is no longer valid.");
    expect(await subjects()).toEqual([VERIFY, FINISH]);
    expect([await isVerified(), await opening(OF_ATTACKER, PASSWORD)]).toEqual([false, []]);
  });

  test("S58 gets its link even if the hourly notice is used up", async () => {
    await shop.application.container.make("throttle").consume(EMAIL_TAKEN_LIMIT, { account: address });
    await shop.register(address, OF_ATTACKER);
    const link = await shop.linkTo(address);
    await shop.register(address, PASSWORD);
    expect(await subjects()).toEqual([VERIFY, FINISH]);
    await shop.verify(link);
    expect([await isVerified(), await opening(OF_ATTACKER, PASSWORD)]).toEqual([false, []]);
    expect(await shop.resetsPassword(await shop.linkTo(address), NEW_PASSWORD)).toBe(true);
  });

  test("gets another link an hour later, and until then the first one stays valid", async () => {
    for (const password of [OF_ATTACKER, PASSWORD, OF_ATTACKER, PASSWORD]) await shop.register(address, password);
    expect(await subjects()).toEqual([VERIFY, FINISH]);
    const first = await shop.linkTo(address);
    (await shop.visitor().get(first)).assertStatus(200);
    travel(60);
    await shop.register(address, OF_ATTACKER);
    expect(await subjects()).toEqual([VERIFY, FINISH, FINISH]);
    const second = await shop.linkTo(address);
    expect([await shop.resetsPassword(first, OF_ATTACKER), await opening(OF_ATTACKER)]).toEqual([false, []]);
    expect(await shop.resetsPassword(second, NEW_PASSWORD)).toBe(true);
    expect(await opening(NEW_PASSWORD, OF_ATTACKER, PASSWORD)).toEqual([NEW_PASSWORD]);
  });

  test("keeps its password and its logins if it is verified", async () => {
    await shop.register(address, PASSWORD);
    await shop.verify(await shop.linkTo(address));
    const owner = await shop.loggedIn(address, PASSWORD);
    await shop.register(address, OF_ATTACKER);
    expect([await shop.isIn(owner), (await subjects()).at(-1)]).toEqual([true, TAKEN]);
    expect(await opening(PASSWORD, OF_ATTACKER)).toEqual([PASSWORD]);
  });

  test("S58 by a change of another account's address is treated the same way", async () => {
    await shop.register(address, OF_ATTACKER);
    const link = await shop.linkTo(address);
    await (await shop.user())!.markEmailAsVerified();
    const other = await shop.loggedIn();
    (await shop.send(other, "/account/email", { email: address, password: PASSWORD })).assertRedirect("/home");
    expect(await subjects()).toEqual([VERIFY, FINISH]);
    await shop.verify(link);
    expect([await isVerified(), await opening(OF_ATTACKER)]).toEqual([false, []]);
  });
});

function linkOf(text: string): string {
  return /https?:\/\/[^/]+(\/\S+)/.exec(text)![1]!;
}
