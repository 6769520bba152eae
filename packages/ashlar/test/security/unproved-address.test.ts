import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { TestClient } from "../../src/testing/index.ts";
import { AccountShop, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { onEachDatabase } from "../support/services.ts";

const ADDRESS = "owner@example.com";
const OF_SQUATTER = "squatter@example.org";
const ELSEWHERE = "elsewhere@example.com";
const IS_TAKEN = "Another account uses this address now, so the change was not undone.";

await onEachDatabase("an address that an account has left without having verified it", (engine) => {
  let shop: AccountShop;
  let undo: string;
  beforeAll(async () => {
    shop = await AccountShop.open(engine);
  });
  afterAll(() => shop.close());
  beforeEach(async () => {
    await shop.reset();
    const squatter = shop.visitor();
    (await shop.register(ADDRESS, PASSWORD, squatter)).assertRedirect("/email/verify/notice");
    await shop.resetLink(ADDRESS);
    await squatter.get(await shop.changeLink(squatter, OF_SQUATTER));
    expect([await addresses(), await resets()]).toEqual([[OF_SQUATTER], []]);
    undo = await shop.linkTo(ADDRESS);
    await shop.mail.clear();
  });

  /** The addresses of all accounts except the first. */
  async function addresses(): Promise<string[]> {
    return (await shop.User.rows().orderBy("id").get()).slice(1).map(({ email }) => email);
  }

  /** The addresses whose links to set a password are stored. */
  async function resets(): Promise<unknown[]> {
    const { kysely } = shop.application.container.make("database");
    return (await kysely.selectFrom("password_resets").select("email").execute()).map(({ email }) => email);
  }

  /** Registers the address as its owner does. */
  async function owner(): Promise<TestClient> {
    const client = shop.visitor();
    (await shop.register(ADDRESS, NEW_PASSWORD, client)).assertRedirect("/email/verify/notice");
    return client;
  }

  test("S51 is free: its owner registers and verifies it, and can reset its password", async () => {
    const client = await owner();
    await shop.verify(await shop.linkTo(ADDRESS), client);
    const account = await shop.User.findBy("email", ADDRESS);
    expect([account?.hasVerifiedEmail(), await addresses()]).toEqual([true, [OF_SQUATTER, ADDRESS]]);
    expect(await shop.resetsPassword(await shop.resetLink(ADDRESS), "another one of the owner")).toBe(true);
  });

  test("S51 is free only once: of 10 concurrent registrations, one gets it", async () => {
    await Promise.all(Array.from({ length: 10 }, () => shop.register(ADDRESS, NEW_PASSWORD)));
    expect(await addresses()).toEqual([OF_SQUATTER, ADDRESS]);
  });

  test("S51 can become the address of another account", async () => {
    const ada = await shop.loggedIn();
    await ada.get(await shop.changeLink(ada, ADDRESS));
    expect([(await shop.user())?.email, await shop.isIn(ada)]).toEqual([ADDRESS, true]);
  });

  test("S51 takes the account back with the link mailed to it, as long as no other account has it", async () => {
    (await shop.undo(undo)).assertRedirect(/^\/password_reset\?token=/);
    expect(await addresses()).toEqual([ADDRESS]);
  });

  test("S51 cannot take the account back once it was registered, and the page says so", async () => {
    const client = await owner();
    const visitor = shop.visitor();
    (await visitor.follow(await shop.undo(undo, visitor))).assertSee(IS_TAKEN);
    expect([await addresses(), await shop.isIn(client)]).toEqual([[OF_SQUATTER, ADDRESS], true]);
    expect(await shop.logsIn(shop.visitor(), OF_SQUATTER, PASSWORD)).toBe(true);
  });

  test("S51 cannot restore the account's address while it is reserved for another account that verified it and can still restore it", async () => {
    const client = await owner();
    await shop.verify(await shop.linkTo(ADDRESS), client);
    await client.get(await shop.changeLink(client, ELSEWHERE, NEW_PASSWORD));
    const ofOwner = await shop.linkTo(ADDRESS);
    const visitor = shop.visitor();
    (await visitor.follow(await shop.undo(undo, visitor))).assertSee(IS_TAKEN);
    expect([await addresses(), await shop.isIn(client)]).toEqual([[OF_SQUATTER, ELSEWHERE], true]);
    (await shop.undo(ofOwner)).assertRedirect(/^\/password_reset\?token=/);
    expect(await addresses()).toEqual([OF_SQUATTER, ADDRESS]);
  });

  test("keeps the links of its next account when the account that left it is deleted", async () => {
    await owner();
    const link = await shop.resetLink(ADDRESS);
    await (await shop.User.findBy("email", OF_SQUATTER))!.delete();
    expect(await shop.resetsPassword(link, "another one of the owner")).toBe(true);
  });
});
