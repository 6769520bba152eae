// A campus behind one address, at eight in the morning: what limits by address refuse, with and without listing the
// network. The percentages are those in docs/guides/limits.md.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestClient, freeze, travel, travelBack } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, PASSWORD } from "../support/account-shop.ts";
import { sqlite } from "../support/services.ts";

const CAMPUS = "198.51.100.7";
const ELSEWHERE = "203.0.113.50";
/** Every tenth student mistypes the password first. */
const MISTAKES = 10;
const STUDENTS = 1200;
/** How many forms are sent at eight sharp. */
const AT_ONCE = 150;

const emailOf = (student: number) => `student${student}@example.com`;

/** An application with this many accounts, all with the same password. */
async function campus(sharedNetworks: Readonly<Record<string, number>>): Promise<AccountShop> {
  const shop = await AccountShop.open(sqlite, { limits: {}, sharedNetworks });
  await shop.reset();
  const { kysely } = shop.application.container.make("database");
  const { id: _, ...row } = (await kysely.selectFrom("users").selectAll().executeTakeFirstOrThrow()) as { id: unknown };
  for (let first = 0; first < STUDENTS; first += 100) {
    const rows = Array.from({ length: 100 }, (__, index) => ({ ...row, email: emailOf(first + index) }));
    await kysely.insertInto("users").values(rows).execute();
  }
  return shop;
}

const visitor = (shop: AccountShop, address = CAMPUS) => createTestClient(shop.application, { address });

/** Everyone logs in on a device that is new to the account, one after the other. Returns who was refused. */
async function morning(shop: AccountShop): Promise<number[]> {
  const refused: number[] = [];
  for (let student = 0; student < STUDENTS; student++) {
    const client = visitor(shop);
    if (student % MISTAKES === 0) await shop.logsIn(client, emailOf(student), "mistyped");
    if (!(await shop.logsIn(client, emailOf(student), PASSWORD))) refused.push(student);
  }
  return refused;
}

/** Forms that are sent at once, on devices that are new to their accounts. Returns how many were refused. */
async function stroke(shop: AccountShop): Promise<number> {
  const forms = await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, student) => {
      const client = visitor(shop);
      return { client, page: await client.get("/login"), fields: { email: emailOf(student), password: PASSWORD } };
    }),
  );
  const sent = forms.map(({ client, page, fields }) => client.submit(page, '[action="/login"]', fields));
  return (await Promise.all(sent)).filter(({ status }) => status === 429).length;
}

beforeEach(() => void freeze());
afterEach(travelBack);

describe("a campus behind one address", () => {
  let shop: AccountShop;
  beforeAll(async () => {
    shop = await campus({});
  });
  afterAll(() => shop.close());

  test("is refused by default after a hundred mistakes on new devices, for the rest of the 15 minutes", async () => {
    const known = visitor(shop);
    expect(await shop.logsIn(known, emailOf(STUDENTS - 1), PASSWORD)).toBe(true);
    await shop.send(known, "/home", {}, '[action="/logout"]');
    const refused = await morning(shop);
    // Student 990 makes the hundredth mistake; the next attempt is refused, even with the right password.
    expect([refused.length, refused[0]]).toEqual([STUDENTS - 990, 990]);
    expect(await shop.logsIn(visitor(shop, ELSEWHERE), emailOf(1100), PASSWORD)).toBe(true);
    // Known devices aren't counted by address.
    expect(await shop.logsIn(known, emailOf(STUDENTS - 1), PASSWORD)).toBe(true);
    travel(15);
    expect(await shop.logsIn(visitor(shop), emailOf(1000), PASSWORD)).toBe(true);
  }, 120_000);

  test("is refused by default when 150 forms are sent at once without a mistake", async () => {
    travel(60);
    expect(await stroke(shop)).toBeGreaterThan(0);
  }, 120_000);
});

describe("S202 a campus whose network is listed", () => {
  let shop: AccountShop;
  beforeAll(async () => {
    shop = await campus({ "198.51.100.0/24": 20, "2001:db8:77::/48": 20 });
  });
  afterAll(() => shop.close());

  test("is not refused after mistakes, at once, or when it registers", async () => {
    expect(await morning(shop)).toEqual([]);
    expect(await stroke(shop)).toBe(0);
    const throttle = shop.application.container.make("throttle");
    const registered = async (address: string) => {
      let count = 0;
      const account = () => `new${count}@example.com`;
      while ((await throttle.consume("register", { address, account: account() })).allowed) count++;
      return count;
    };
    expect([await registered(CAMPUS), await registered(ELSEWHERE)]).toEqual([1200, 60]);
  }, 120_000);

  test("gets no more guesses at one account than any other network, and its neighbors get no more at all", async () => {
    const throttle = shop.application.container.make("throttle");
    const passed = async (address: string, account: (n: number) => string) => {
      let count = 0;
      for (let n = 0; n < 2100; n++) {
        const { allowed } = await throttle.consume("login", { realm: "web", account: account(n), address });
        if (!allowed) return count;
        count++;
      }
      return count;
    };
    const anyone = (n: number) => `anyone${n}@example.com`;
    expect(await passed("198.51.100.8", () => EMAIL)).toBe(5);
    expect(await passed("198.51.100.9", anyone)).toBe(2000);
    expect(await passed("198.51.101.9", anyone)).toBe(100);
    // A whole IPv6 network counts in wider blocks, with the attempts multiplied accordingly.
    expect(await passed("2001:db8:77:1::9", anyone)).toBe(2000);
    expect(await passed("2001:db8:78:1::9", anyone)).toBe(100);
    const { buckets } = await throttle.consume("login", { address: "2001:db8:77:2::9" });
    expect(buckets.map(({ bucket }) => bucket.attempts)).toEqual([2000, 8000, 32_000, 100]);
  }, 120_000);

  test("sees its own limit, and guesses at an account from everywhere share one budget", async () => {
    const answer = await shop.send(visitor(shop, "198.51.100.20"), "/login", { email: EMAIL, password: "wrong" });
    expect(answer.headers.get("ratelimit-policy")).toBe('"login-address";q=2000;w=900, "login";q=5;w=300');
    const throttle = shop.application.container.make("throttle");
    const budget = await throttle.consume("login.account", { realm: "web", account: EMAIL, address: CAMPUS });
    expect(budget.limit).toBe(100);
  });
});
