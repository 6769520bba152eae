import { describe, expect, test } from "vitest";
import { memoryStore } from "../../src/throttle/index.ts";
import { ADA, testAccounts, type Visitor } from "../support/account-application.ts";
import { PASSWORD } from "../support/application-parts.ts";
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
  WatchedHasher,
  warnings,
} from "../support/guessed-accounts.ts";
import { onEachDatabase } from "../support/services.ts";

const JSON_ANSWER = { accept: "application/json" };

standStill();

test("S133 a botnet with 10,000 addresses gets about 340 guesses a day, and the owner can log in on every device", async () => {
  const shop = await open();
  const { accounts, hasher } = shop;
  const known = accounts.visitor({ ip: "198.51.100.1" });
  expect(await isIn(known)).toBe(true);
  const newDevice = accounts.visitor({ ip: "198.51.100.2" });
  const before = hasher.compared;
  let own = 0;
  const mails: Awaited<ReturnType<typeof warnings>>[number][] = [];
  const BOTS = 10_000;
  for (let bot = 0; bot < BOTS; bot++) {
    at((24 * 60 * bot) / BOTS);
    await guess(shop, bot);
    if (bot % 1000 !== 999) continue;
    // A device where the owner has logged in before works all day, from any address.
    expect(await isIn(known), `after ${bot} guesses`).toBe(true);
    own++;
    mails.push(...(await warnings(shop)));
  }
  const guessed = hasher.compared - before - own;
  expect(guessed).toBeGreaterThan(300);
  expect(guessed).toBeLessThanOrEqual(200 + 24 * 6);
  // The owner is notified once.
  expect(mails).toHaveLength(1);
  expect(mails[0]!.to).toBe(ADA.email);
  // A new device is refused even with the right password, and the response says what to do.
  const refused = await login(newDevice, ADA.email, PASSWORD);
  expect(refused.status).toBe(429);
  expect(JSON.stringify(refused.body)).toContain("follow the link that we have mailed");
  expect(JSON.stringify(refused.body)).toContain("A new password by email lets you in at once, too.");
  expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(600);
  // The link in the mail lets the device in, but it still needs the password.
  const path = pathIn(mails[0]!);
  at(23 * 60);
  expect((await newDevice.get(path)).status).toBe(200);
  expect((await newDevice.post(path)).status).toBe(302);
  expect(await isIn(newDevice, "not her password")).toBe(false);
  expect(await isIn(newDevice)).toBe(true);
  // A day after the storm, any device is let in again.
  at(48 * 60 + 1);
  expect(await isIn(accounts.visitor({ ip: "198.51.100.3" }))).toBe(true);
}, 300_000);

describe("S133 the link in the mail", () => {
  const storm = async (options: Parameters<typeof testAccounts>[0] = {}) => {
    const shop = await open(options);
    for (let bot = 0; bot < 102; bot++) await guess(shop, bot);
    const [mail] = await warnings(shop);
    const path = pathIn(mail!);
    let visitors = 0;
    return { shop, path, visitor: () => shop.accounts.visitor({ ip: `198.51.100.${++visitors}` }) };
  };

  test("is for one device, so one of 20 simultaneous uses counts, and its page changes nothing", async () => {
    const { path, visitor } = await storm();
    for (let look = 0; look < 3; look++) expect((await visitor().get(path)).status).toBe(200);
    const visitors = Array.from({ length: 20 }, visitor);
    await Promise.all(visitors.map((one) => one.post(path)));
    expect(visitors.filter(({ cookies }) => cookies.has("__Host-device"))).toHaveLength(1);
    const later = visitor();
    expect((await later.get(path)).status).toBe(302);
    expect((await later.post(path, {}, { accept: "application/json" })).status).toBe(410);
  });

  test("ends with access to the account, after a day, and if it was altered", async () => {
    const { shop, path, visitor } = await storm();
    const status = async (to: string) => (await visitor().post(to, {}, { accept: "application/json" })).status;
    expect(await status(`${path}x`)).toBe(410);
    at(24 * 60 + 1);
    expect(await status(path)).toBe(410);
    at(0);
    await (await shop.accounts.user()).endAccess();
    expect(await status(path)).toBe(410);
  });

  test("stays valid on a device that uses the account, right after the storm that triggered it", async () => {
    const shop = await open();
    const laptop = shop.accounts.visitor({ ip: "198.51.100.1" });
    expect(await isIn(laptop)).toBe(true);
    laptop.cookies.delete("__Host-token");
    for (let bot = 0; bot < 102; bot++) await guess(shop, bot);
    const [mail] = await warnings(shop);
    const path = pathIn(mail!);
    expect((await laptop.get(path, JSON_ANSWER)).body).toMatchObject({ data: { isKnown: true } });
    expect((await laptop.post(path, {}, JSON_ANSWER)).body).toMatchObject({ data: { status: "known" } });
    const phone = shop.accounts.visitor({ ip: "198.51.100.2" });
    expect((await phone.post(path, {}, JSON_ANSWER)).body).toMatchObject({ data: { status: "allowed" } });
    expect([await isIn(phone), await isIn(laptop)]).toEqual([true, true]);
  });

  test.each([
    ["for five minutes", 5],
    ["for the day", 44 * 5],
  ])("lets in a device whose cookie someone has copied and used up %s", async (_, guesses) => {
    const { shop, path } = await storm();
    const owner = shop.accounts.visitor({ ip: "198.51.100.77" });
    await owner.post(path);
    expect(await isIn(owner)).toBe(true);
    owner.cookies.delete("__Host-token");
    at(24 * 60 + 1);
    for (let bot = 0; bot < 102; bot++) await guess(shop, bot);
    const [mail] = await warnings(shop);
    const copy = copyOf(shop, owner, "198.51.100.78");
    for (let attempt = 0; attempt < guesses; attempt++) {
      at(24 * 60 + 1 + Math.floor(attempt / 5) * 5.1);
      await login(copy, ADA.email, `a guess, number ${attempt}`);
    }
    expect(await isIn(owner)).toBe(false);
    const next = pathIn(mail!);
    expect((await owner.get(next, JSON_ANSWER)).body).toMatchObject({ data: { isKnown: false } });
    expect((await owner.post(next, {}, JSON_ANSWER)).status).toBe(200);
    expect(await isIn(owner)).toBe(true);
  });

  test("lets the device in once if it is sent twice, as by a double click, whichever response the browser keeps", async () => {
    const { shop, path, visitor } = await storm();
    const [first, second] = [visitor(), shop.accounts.visitor({ ip: "198.51.100.1" })];
    const answers = await Promise.all([first, second].map((one) => one.post(path, {}, JSON_ANSWER)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect([first, second].map(({ cookies }) => cookies.has("__Host-device"))).toEqual([true, true]);
    // It is one device, so it has one budget.
    for (let attempt = 0; attempt < 5; attempt++) await login(first, ADA.email, `a guess, number ${attempt}`);
    expect((await login(second, ADA.email, PASSWORD)).status).toBe(429);
    // Neither another client at that moment, nor the same one later.
    expect((await visitor().post(path, {}, JSON_ANSWER)).status).toBe(410);
    at(2);
    expect((await shop.accounts.visitor({ ip: "198.51.100.1" }).post(path, {}, JSON_ANSWER)).status).toBe(410);
  });

  test("logs no one in, and gives the admitted device one more budget, but not unlimited guesses", async () => {
    const { shop, path, visitor } = await storm();
    const device = visitor();
    await device.post(path);
    expect((await device.get("/me")).body).toEqual({ user: null });
    const before = shop.hasher.compared;
    for (let hour = 0; hour < 24; hour++) {
      for (let minute = 0; minute < 60; minute += 5) {
        at(hour * 60 + minute);
        for (let attempt = 0; attempt < 6; attempt++) await login(device, ADA.email, "another guess");
      }
    }
    // Its own guesses, then the remaining ones of unknown devices, and then one every ten minutes.
    expect(shop.hasher.compared - before).toBeLessThanOrEqual(200 + 100 + 24 * 6);
  });

  test("is not needed after a new password was set, because that proves the mailbox too", async () => {
    const { shop, visitor } = await storm();
    const device = visitor();
    const token = await shop.accounts.resetToken(ADA);
    const password = "another password of hers";
    await device.post("/password_reset", { token, password, password_confirmation: password });
    expect(await isIn(device, password)).toBe(true);
    expect(await isIn(visitor(), password)).toBe(false);
  });
});

describe("S133 copied cookies of known devices", () => {
  test("from before a password change share one budget, however many, and lock the owner out of no device", async () => {
    const shop = await open();
    const owner = shop.accounts.visitor({ ip: "198.51.100.1" });
    expect(await isIn(owner)).toBe(true);
    const olds: Visitor[] = [];
    for (let old = 0; old < 22; old++) {
      const device = shop.accounts.visitor({ ip: `198.51.100.${100 + old}` });
      expect(await isIn(device)).toBe(true);
      olds.push(copyOf(shop, device, addressOf(old)));
    }
    const phone = shop.accounts.visitor({ ip: "198.51.100.2" });
    expect(await isIn(phone)).toBe(true);
    await changePassword(owner);
    const before = shop.hasher.compared;
    for (let day = 0; day < 24 * 60; day += 5) {
      at(day);
      for (const old of olds) await login(old, ADA.email, `a guess at ${day}`);
    }
    // The remaining guesses of former devices, then those of unknown ones, and then one every ten minutes.
    expect(shop.hasher.compared - before).toBeLessThanOrEqual(200 + 200 + 24 * 6);
    expect(await isIn(owner, CHANGED)).toBe(true);
    // Neither the phone nor a new device gets in, but the owner has a link.
    expect(await isIn(phone, CHANGED)).toBe(false);
    const [mail] = await warnings(shop);
    expect((await phone.post(pathIn(mail!))).status).toBe(302);
    expect(await isIn(phone, CHANGED)).toBe(true);
  }, 120_000);

  test("while only unknown clients guess, a device from before the change gets in as before", async () => {
    const shop = await open();
    const [owner, phone] = ["198.51.100.1", "198.51.100.2"].map((ip) => shop.accounts.visitor({ ip })) as [
      Visitor,
      Visitor,
    ];
    for (const one of [owner, phone]) expect(await isIn(one)).toBe(true);
    await changePassword(owner);
    for (let bot = 0; bot < 110; bot++) await guess(shop, bot);
    expect(await isIn(shop.accounts.visitor({ ip: "198.51.100.3" }), CHANGED)).toBe(false);
    expect(await isIn(phone, CHANGED)).toBe(true);
  });

  test("a copy of one device's cookie uses up only that device's budget", async () => {
    const shop = await open();
    const [laptop, phone] = ["198.51.100.1", "198.51.100.2"].map((ip) => shop.accounts.visitor({ ip })) as [
      Visitor,
      Visitor,
    ];
    for (const one of [laptop, phone]) expect(await isIn(one)).toBe(true);
    const thief = copyOf(shop, laptop, addressOf(1));
    await useUp(thief);
    const [mail] = await warnings(shop);
    for (let bot = 200; bot < 320; bot++) await guess(shop, bot);
    expect(await isIn(laptop)).toBe(false);
    expect(await isIn(phone)).toBe(true);
    // The link in the mail lets the device in again, because it gets a cookie that the copy doesn't have.
    await laptop.post(pathIn(mail!));
    expect(await isIn(laptop)).toBe(true);
    expect(await isIn(thief)).toBe(false);
  });
});

test("S133 an address without an account gets the same responses, and no mail", async () => {
  const shop = await open();
  for (let bot = 0; bot < 104; bot++) {
    const known = await guess(shop, bot);
    const unknown = await guess(shop, bot + 20_000, "nobody@example.com");
    const told = ({ status, headers, body }: typeof known) => [
      status,
      headers.get("retry-after"),
      JSON.stringify(body),
    ];
    expect(told(unknown)).toEqual(told(known));
  }
  expect((await warnings(shop)).map(({ to }) => to)).toEqual([ADA.email]);
});

test("S133 an unverified address gets no such mail", async () => {
  const hasher = new WatchedHasher();
  const accounts = await testAccounts({ hasher, throttle: {}, store: memoryStore() });
  const shop = { accounts, hasher };
  for (let bot = 0; bot < 104; bot++) await guess(shop, bot);
  expect(await warnings(shop)).toEqual([]);
});

test("S133 all forms that check the password share the budget: the login, confirmations, and password changes", async () => {
  const { accounts, hasher } = await open();
  const thief = await accounts.loggedIn();
  // A copied login cookie, without the device cookie.
  thief.cookies.delete("__Host-device");
  const before = hasher.compared;
  for (let round = 0; round < 40; round++) {
    // Stay below the limit by address, which is a different one.
    at(round * 1.4);
    const post = (path: string, body: object) => {
      const copy = accounts.visitor({ ip: addressOf(round * 3) });
      for (const [name, value] of thief.cookies) copy.cookies.set(name, value);
      return copy.post(path, body, { accept: "application/json" });
    };
    await post("/confirm_password", { password: "a guess" });
    const change = { password: "some new password", password_confirmation: "some new password" };
    await post("/account/password", { current_password: "a guess", ...change });
    await login(accounts.visitor({ ip: addressOf(round * 3 + 1) }), ADA.email, "a guess");
  }
  expect(hasher.compared - before).toBeLessThanOrEqual(100 + 6);
  expect(hasher.compared - before).toBeGreaterThanOrEqual(100);
});

test("S133 the owner's successes give unknown clients no additional guesses", async () => {
  const shop = await open();
  const owner = shop.accounts.visitor({ ip: "198.51.100.1" });
  const before = shop.hasher.compared;
  let own = 0;
  for (let bot = 0; bot < 150; bot++) {
    await guess(shop, bot);
    if (bot % 10 === 0 && (await isIn(owner))) own++;
  }
  expect(own).toBe(15);
  expect(shop.hasher.compared - before - own).toBe(101);
});

describe("S133 no account occupies more than two hashes at once", () => {
  for (const email of [ADA.email, "nobody@example.com"]) {
    test(`${email === ADA.email ? "an account" : "an address without one"}: the rest is refused without hashing`, async () => {
      const shop = await open();
      const release = shop.hasher.hold();
      const answers = Array.from({ length: 30 }, (_, bot) => guess(shop, bot, email));
      let refused = 0;
      for (const answer of answers) {
        void answer.then(({ status }) => {
          if (status === 429) refused++;
        });
      }
      // None of them waits in the queue.
      await expect.poll(() => refused).toBe(28);
      release();
      const all = await Promise.all(answers);
      const busy = all.filter(({ status }) => status === 429);
      expect(busy).toHaveLength(28);
      expect(busy[0]!.headers.get("retry-after")).toBe("1");
      expect([shop.hasher.most, shop.hasher.compared]).toEqual([2, 2]);
    });
  }

  test("a known device waits for its turn, ahead of all others", async () => {
    const shop = await open();
    const known = shop.accounts.visitor({ ip: "198.51.100.1" });
    expect(await isIn(known)).toBe(true);
    const release = shop.hasher.hold();
    const guesses = Array.from({ length: 10 }, (_, bot) => guess(shop, bot));
    await expect.poll(() => shop.hasher.running).toBe(2);
    const owner = isIn(known);
    const more = Array.from({ length: 10 }, (_, bot) => guess(shop, bot + 100));
    await Promise.all(more);
    release();
    expect(await owner).toBe(true);
    expect((await Promise.all(guesses)).filter(({ status }) => status !== 429)).toHaveLength(2);
    expect(shop.hasher.most).toBe(2);
  });

  test("attempts with any number of cookies from before a password change leave room for the owner's to wait", async () => {
    const shop = await open();
    const owner = shop.accounts.visitor({ ip: "198.51.100.1" });
    expect(await isIn(owner)).toBe(true);
    const olds: Visitor[] = [];
    for (let old = 0; old < 8; old++) {
      const device = shop.accounts.visitor({ ip: `198.51.100.${100 + old}` });
      expect(await isIn(device)).toBe(true);
      olds.push(copyOf(shop, device, addressOf(old)));
    }
    await changePassword(owner);
    const release = shop.hasher.hold();
    let refused = 0;
    const answers = olds.map(async (old) => {
      const { status } = await login(old, ADA.email, "a guess");
      if (status === 429) refused++;
    });
    await expect.poll(() => [shop.hasher.running, refused]).toEqual([2, 4]);
    const entered = isIn(owner, CHANGED);
    const more = login(olds[0]!, ADA.email, "a guess");
    expect((await more).status).toBe(429);
    release();
    expect(await entered).toBe(true);
    await Promise.all(answers);
  });

  test("other accounts are not affected", async () => {
    const shop = await open();
    const release = shop.hasher.hold();
    const guesses = Array.from({ length: 10 }, (_, bot) => guess(shop, bot));
    await expect.poll(() => shop.hasher.running).toBe(2);
    const other = guess(shop, 50, "bob@example.com");
    await expect.poll(() => shop.hasher.running).toBe(3);
    release();
    await Promise.all([...guesses, other]);
  });
});

await onEachDatabase("guesses at one account", (engine) => {
  test("S133 across two instances, no more guesses than the budget are compared, and the owner is mailed once", async () => {
    const one = await open({ engine, store: "database" });
    const other = new WatchedHasher();
    const twin = {
      accounts: await testAccounts({ hasher: other, throttle: {}, restarted: one.accounts }),
      hasher: other,
    };
    const guesses = (shop: Shop, start: number) => {
      return Promise.all(Array.from({ length: 2 }, (_, index) => guess(shop, start + index)));
    };
    for (let bot = 0; bot < 160; bot += 4) await Promise.all([guesses(one, bot), guesses(twin, bot + 2)]);
    // The last guess is the slow limit's.
    expect(one.hasher.compared + other.compared).toBe(101);
    expect([...(await warnings(one)), ...(await warnings(twin))]).toHaveLength(1);
  });

  test("S133 a login without failures counts in five statements, whatever the address, and in four from a known device", async () => {
    const { accounts } = await open({ engine, store: "database" });
    const statements: string[] = [];
    const visitors = ["198.51.100.1", "2001:db8:1:2::1"].map((ip) => accounts.visitor({ ip }));
    // MariaDB's dialect looks up the keys of a table when it first writes to it.
    for (const visitor of visitors) await login(visitor, ADA.email, "a guess");
    const end = accounts.database.connection().onQuery(({ sql }) => {
      if (/rate_limits/.test(sql)) statements.push(sql);
    });
    for (const count of [5, 4]) {
      for (const visitor of visitors) {
        statements.length = 0;
        expect(await isIn(visitor)).toBe(true);
        expect(statements, statements.join("\n")).toHaveLength(count);
      }
    }
    end();
  });

  test("S133 once the budget is used up, each guess in a storm costs one lookup of the address", async () => {
    // So that the second for which the refusal is remembered doesn't end during the test.
    at(0);
    const shop = await open({ engine, store: "database" });
    for (let bot = 0; bot < 103; bot++) await guess(shop, bot);
    const compared = shop.hasher.compared;
    const statements: string[] = [];
    // The mail to the owner has a limit too, and may still be on its way.
    await shop.accounts.application.background.settled();
    const end = shop.accounts.database.connection().onQuery(({ sql }) => {
      if (/rate_limits/.test(sql)) statements.push(sql);
    });
    for (let bot = 200; bot < 220; bot++) {
      const refused = await guess(shop, bot);
      expect([refused.status, JSON.stringify(refused.body)]).toEqual([
        429,
        expect.stringContaining("that we have mailed"),
      ]);
    }
    expect(shop.hasher.compared).toBe(compared);
    expect(statements).toHaveLength(20);
    expect(new Set(statements).size).toBe(1);
    // A second later, one is counted again.
    at(1 / 30);
    statements.length = 0;
    await guess(shop, 300);
    end();
    expect(statements.length).toBeGreaterThan(1);
  });
});

test("S133 a guess is refused without being counted while two others are being compared", async () => {
  const shop = await open();
  const release = shop.hasher.hold();
  const running = [guess(shop, 0), guess(shop, 2)];
  await expect.poll(() => shop.hasher.running).toBe(2);
  const visitor = shop.accounts.visitor({ ip: "198.51.100.9" });
  // More than the limit by account and address allows.
  for (let attempt = 0; attempt < 8; attempt++) {
    const refused = await login(visitor, ADA.email, PASSWORD);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
  }
  release();
  await Promise.all(running);
  expect(await isIn(visitor)).toBe(true);
});
