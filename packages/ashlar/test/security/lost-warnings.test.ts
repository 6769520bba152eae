import { describe, expect, test } from "vitest";
import { sql } from "../../src/database/index.ts";
import { memoryStore } from "../../src/throttle/index.ts";
import { ADA, type TestAccounts, testAccounts } from "../support/account-application.ts";
import { PASSWORD } from "../support/application-parts.ts";
import type { Page } from "../support/browser.ts";
import { at, guess, login, open, type Shop, standStill, WatchedHasher, warnings } from "../support/guessed-accounts.ts";

standStill();

const NOBODY = "nobody@example.com";

/** Uses up the guesses of unknown devices, without being refused. */
async function useUp(shop: Shop, email: string = ADA.email): Promise<void> {
  for (let bot = 0; bot < 101; bot++) await guess(shop, bot, email);
}

/** Makes rows of the outbox fail to be stored, until the returned function is called. */
async function fillDisk({ accounts }: Shop, condition: string): Promise<() => Promise<void>> {
  const { kysely } = accounts.database;
  const body = sql.raw(`begin select raise(abort, 'The disk is full.'); end`);
  await sql`create trigger full_disk before insert on mail_outbox when ${sql.raw(condition)} ${body}`.execute(kysely);
  return async () => void (await sql`drop trigger full_disk`.execute(kysely));
}

const isPromised = (refusal: Page): boolean => {
  expect(refusal.status).toBe(429);
  return JSON.stringify(refusal.body).includes("the link that we have mailed");
};

describe("S133 a warning about guesses is mailed once, even if", () => {
  for (const email of [ADA.email, NOBODY]) {
    const whose = email === ADA.email ? "an account" : "an address without one";
    test(`it could not be stored with the first refusal, which then promises no mail: ${whose}`, async () => {
      const logged: Record<string, unknown>[] = [];
      const shop = await open({ logged });
      const clear = await fillDisk(shop, "true");
      await useUp(shop, email);
      for (let bot = 200; bot < 210; bot++) expect(isPromised(await guess(shop, bot, email))).toBe(false);
      expect(logged).toContainEqual(expect.objectContaining({ msg: "A warning about guesses could not be stored." }));
      await clear();
      // After the process has forgotten the refusal.
      at(0.05);
      for (let bot = 300; bot < 310; bot++) expect(isPromised(await guess(shop, bot, email))).toBe(true);
      expect(await warnings(shop)).toHaveLength(email === ADA.email ? 1 : 0);
      for (let minute = 1; minute < 60; minute += 5) {
        at(minute);
        await guess(shop, 400 + minute, email);
      }
      expect(await warnings(shop)).toEqual([]);
    });
  }

  test("the mail could not be stored, although the promise was: the promise counts once", async () => {
    const shop = await open();
    const clear = await fillDisk(shop, "new.kind = 'mail'");
    await useUp(shop);
    await guess(shop, 200);
    expect(await warnings(shop)).toEqual([]);
    expect(await shop.accounts.rows("mail_outbox")).toHaveLength(1);
    await clear();
    at(1.1);
    await guess(shop, 201);
    expect(await warnings(shop)).toHaveLength(1);
    at(20);
    await guess(shop, 202);
    expect(await warnings(shop)).toEqual([]);
  });

  test("the address is verified only after the budget was used up", async () => {
    const hasher = new WatchedHasher();
    const accounts: TestAccounts = await testAccounts({ hasher, throttle: {}, store: memoryStore() });
    const shop = { accounts, hasher };
    await useUp(shop);
    await guess(shop, 200);
    expect(await warnings(shop)).toEqual([]);
    await (await accounts.user()).markEmailAsVerified();
    at(1.1);
    expect(isPromised(await guess(shop, 201))).toBe(true);
    expect(await warnings(shop)).toHaveLength(1);
  });
});

test("S133 one refused guess a minute writes a row, whether or not there is an account, or its owner was mailed", async () => {
  const shop = await open();
  const rows: string[] = [];
  shop.accounts.database.connection().onQuery(({ sql: statement }) => {
    if (/insert into .mail_outbox/.test(statement)) rows.push(statement);
  });
  const written: number[][] = [];
  for (const email of [ADA.email, NOBODY]) {
    at(0);
    await useUp(shop, email);
    const counts: number[] = [];
    for (const minute of [0, 1.1, 2.2]) {
      at(minute);
      await warnings(shop);
      rows.length = 0;
      for (let bot = 0; bot < 50; bot++) await guess(shop, 1000 + minute * 1000 + bot, email);
      counts.push(rows.length);
    }
    written.push(counts);
  }
  // The guess that used up the budget wrote the first one.
  expect(written).toEqual([
    [0, 1, 1],
    [0, 1, 1],
  ]);
});

describe("S133 S186 a refusal promises a link only", () => {
  const APP_HOSTS = "*.shop.example, acme.example";
  const refusalAt = async (origin: string): Promise<boolean> => {
    const shop = await open({ environment: { APP_HOSTS } });
    await useUp(shop);
    const visitor = shop.accounts.visitor({ origin, ip: "198.51.100.9" });
    return isPromised(await login(visitor, ADA.email, PASSWORD));
  };

  test.each([
    ["https://shop.example", true],
    ["https://acme.shop.example", true],
    // Its link leads to the host of APP_URL, where it lets the device in.
    ["https://acme.example", false],
    // Not one of the application's hosts, so it shows the pages of APP_URL.
    ["https://evil.example", true],
  ])("if the link lets the device in: at %s, %s", async (origin, expected) => {
    expect(await refusalAt(origin)).toBe(expected);
  });
});
