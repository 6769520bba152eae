import { describe, expect, test } from "vitest";
import type { WebGuard } from "../../src/auth/index.ts";
import { Route } from "../../src/routing/index.ts";
import { linksIn } from "../../src/testing/index.ts";
import { ADA, AdminUser, FullUser, type Visitor } from "../support/account-application.ts";
import {
  addressOf,
  at,
  CHANGED,
  changePassword,
  copyOf,
  guess,
  isIn,
  login,
  open,
  pathIn,
  type Shop,
  standStill,
  useUp,
  warnings,
} from "../support/guessed-accounts.ts";

standStill();

const JSON_ONLY = { accept: "application/json" };
const UNKNOWN = "nobody@example.com";

/** A login form of a guard, at its own path. */
const door = (path: string, guard: string) =>
  Route.post(path, async ({ auth, request }) => {
    const { status } = await (auth.guard(guard) as unknown as WebGuard).login(
      request.input("id"),
      request.input("password"),
    );
    return { status };
  });

/** Uses up the budget of an identifier. */
async function storm(shop: Shop, first: number, id: string): Promise<void> {
  for (let bot = first; bot < first + 102; bot++) await guess(shop, bot, id);
}

async function newcomer(shop: Shop, email: string): Promise<Visitor> {
  const visitor = shop.accounts.visitor({ ip: "198.51.100.77" });
  const form = { name: "New", email, password: CHANGED, password_confirmation: CHANGED };
  expect((await visitor.post("/register", form)).status).toBe(302);
  return visitor;
}

describe("S133 responses to guesses reveal nothing about accounts", () => {
  test("that are created in the meantime, with and without preventing enumeration", async () => {
    for (const preventEnumeration of [false, true]) {
      const shop = await open({ ACCOUNTS: { preventEnumeration } });
      await storm(shop, 0, UNKNOWN);
      const before = await guess(shop, 500, UNKNOWN);
      await newcomer(shop, UNKNOWN);
      const after = await guess(shop, 501, UNKNOWN);
      expect([before.status, after.status, after.body]).toEqual([429, 429, before.body]);
    }
  });

  test("that are deleted in the meantime", async () => {
    const shop = await open();
    await storm(shop, 0, ADA.email);
    await (await shop.accounts.user()).delete();
    expect((await guess(shop, 500)).status).toBe(429);
  });
});

describe("S54 a current device gets in", () => {
  test("while a copy of its cookie from before a change of the password guesses, from any address", async () => {
    const shop = await open();
    const laptop = shop.accounts.visitor({ ip: "198.51.100.1" });
    expect(await isIn(laptop)).toBe(true);
    const copies = [addressOf(1), "198.51.100.1"].map((ip) => copyOf(shop, laptop, ip));
    await changePassword(laptop);
    for (let minute = 0; minute < 60; minute += 5.1) {
      at(minute);
      for (const copy of copies) for (let one = 0; one < 6; one++) await login(copy, ADA.email, `a guess ${one}`);
      expect(await isIn(laptop, CHANGED), `after ${minute} minutes`).toBe(true);
    }
  });

  test("although a copy of its cookie used up its guesses before the change, and strangers use up theirs after it", async () => {
    const shop = await open();
    const laptop = shop.accounts.visitor({ ip: "198.51.100.1" });
    expect(await isIn(laptop)).toBe(true);
    await useUp(copyOf(shop, laptop, addressOf(1)));
    at(45 * 5.1);
    expect(await isIn(laptop)).toBe(true);
    await changePassword(laptop);
    for (let bot = 0; bot < 210; bot++) {
      at(45 * 5.1 + bot);
      await guess(shop, bot);
    }
    expect(await isIn(shop.accounts.visitor({ ip: "198.51.100.3" }), CHANGED)).toBe(false);
    expect(await isIn(laptop, CHANGED)).toBe(true);
  });

  test("while devices from before the change guess at its own address", async () => {
    const shop = await open();
    const ip = "198.51.100.1";
    const [laptop, ...olds] = Array.from({ length: 6 }, () => shop.accounts.visitor({ ip })) as [Visitor, ...Visitor[]];
    for (const one of [laptop, ...olds]) expect(await isIn(one)).toBe(true);
    const copies = olds.map((old) => copyOf(shop, old, ip));
    await changePassword(laptop);
    for (const copy of copies) for (let one = 0; one < 6; one++) await login(copy, ADA.email, `a guess ${one}`);
    expect(await isIn(laptop, CHANGED)).toBe(true);
  });
});

describe("S133 the owner of an account is mailed", () => {
  test("although guesses at another guard's account with the same address came first", async () => {
    class Admin extends AdminUser {}
    const shop = await open({
      guards: { admin: { driver: "web", model: Admin } },
      models: [Admin],
      routes: [door("/admin/enter", "admin")],
    });
    const admin = await Admin.findOrFail(1);
    await (admin as unknown as FullUser).markEmailAsVerified();
    await shop.accounts.mails();
    await storm(shop, 0, ADA.email);
    expect(await warnings(shop)).toHaveLength(1);
    for (let bot = 0; bot < 103; bot++) {
      const visitor = shop.accounts.visitor({ ip: addressOf(bot + 500) });
      await visitor.post("/admin/enter", { id: ADA.email, password: `guess ${bot}` }, JSON_ONLY);
    }
    expect(await warnings(shop)).toHaveLength(1);
  });

  test("again on the next day, whenever the first mail was sent, and the link gets a new device in", async () => {
    const shop = await open();
    let bot = 0;
    const burst = async (count: number) => {
      for (let one = 0; one < count; one++) await guess(shop, bot++);
    };
    await burst(1);
    at(180);
    await burst(101);
    expect(await warnings(shop)).toHaveLength(1);
    for (const minute of [242, 24 * 60 + 1, 25 * 60 + 2]) {
      at(minute);
      await burst(110);
    }
    const mails = [...(await warnings(shop))];
    // The attack continues after the first mail's day is over.
    for (let minute = 27 * 60 + 1; minute < 28 * 60; minute += 10) {
      at(minute);
      await burst(3);
      mails.push(...(await warnings(shop)));
    }
    expect(mails).toHaveLength(1);
    const device = shop.accounts.visitor({ ip: "198.51.100.9" });
    expect(await isIn(device)).toBe(false);
    await device.post(pathIn(mails[0]!));
    expect(await isIn(device)).toBe(true);
  });

  test("in the application's language, whatever the guesser's is", async () => {
    const APP = { url: "https://shop.example", language: "en", languages: ["de"] };
    const shop = await open({ config: { app: { APP } } });
    for (let bot = 0; bot < 103; bot++) {
      const visitor = shop.accounts.visitor({ ip: addressOf(bot) });
      await visitor.post(
        "/login",
        { email: ADA.email, password: "a guess" },
        { ...JSON_ONLY, "accept-language": "de" },
      );
    }
    const mails = await shop.accounts.mails();
    expect(mails.map(({ subject }) => subject)).toEqual([expect.stringContaining("Wrong passwords were tried")]);
    expect(linksIn(mails[0]!)).not.toEqual([]);
  });
});

/** Users with a name, or with their address instead. */
class Named extends FullUser {
  static override identifierColumn = "name";
  static override identifiesByEmail = true;
}

test("S133 guesses at an address don't reveal which name belongs to it", async () => {
  class User extends Named {}
  const shop = await open({ User, routes: [door("/enter", "web")] });
  const enter = (bot: number, id: string) => {
    const visitor = shop.accounts.visitor({ ip: addressOf(bot) });
    return visitor.post("/enter", { id, password: `guess ${bot}` }, JSON_ONLY);
  };
  const names = [ADA.name, "Somebody Else"];
  for (const [index, name] of names.entries()) {
    const release = shop.hasher.hold();
    const held = [enter(index * 10, ADA.email), enter(index * 10 + 1, ADA.email)];
    await expect.poll(() => shop.hasher.running).toBe(2);
    const third = enter(index * 10 + 2, name);
    await expect.poll(() => shop.hasher.running).toBe(3);
    release();
    await Promise.all([...held, third]);
  }
  for (let bot = 100; bot < 202; bot++) await enter(bot, ADA.email);
  const statuses = await Promise.all(names.map(async (name, index) => (await enter(300 + index, name)).status));
  expect(statuses[0]).toBe(statuses[1]);
  expect(await enter(400, ADA.email)).toMatchObject({ status: 429 });
});
