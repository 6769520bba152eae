import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DatabaseTaskClaim } from "../../src/database/migrations/task-claim.ts";
import type { Row } from "../../src/public/database.ts";
import type { TestResponse } from "../../src/public/testing.ts";
import { AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { inPairs } from "../support/in-pairs.ts";
import { oneConnection } from "../support/one-connection-dialect.ts";

/** How many requests are sent at once. */
const MANY = 12;
/** Where a new account is redirected. */
const NOTICE = "/email/verify/notice";

/** Written from outside, with the public API only. */
const dialect = oneConnection(":memory:", 10_000);

describe("an application on a dialect that the framework doesn't know", () => {
  describe("as generated", () => {
    let shop: AccountShop;
    beforeAll(async () => {
      shop = await AccountShop.open(dialect);
    });
    afterAll(() => shop.close());
    beforeEach(() => shop.reset());

    async function rows(table: string): Promise<Row[]> {
      return await shop.application.container.make("database").kysely.selectFrom(table).selectAll().execute();
    }

    test("a visitor registers, verifies the address, logs in and logs out", async () => {
      const client = shop.visitor();
      const [email, password] = ["grace@example.com", "a password of grace"];
      (await shop.register(email, password, client)).assertRedirect(NOTICE);
      expect(await shop.isIn(client)).toBe(true);
      await shop.verify(await shop.linkTo(email), client);
      const user = await shop.User.findBy("email", email);
      expect(user?.hasVerifiedEmail()).toBe(true);

      const browser = await shop.loggedIn(email, password, { remember: true });
      expect(await rows("logins")).toHaveLength(2);
      await shop.send(browser, "/home", {}, '[action="/logout"]');
      expect([await shop.isIn(browser), await shop.isIn(client)]).toEqual([false, true]);
      expect(await rows("logins")).toHaveLength(1);
    });

    test("of parallel registrations with the same address, one gets the account", async () => {
      const email = "grace@example.com";
      const answers = await Promise.all(
        Array.from({ length: MANY }, () => shop.register(email, "a password of grace")),
      );
      expect(answers.filter(({ headers }) => headers.get("location") === NOTICE)).toHaveLength(1);
      expect((await rows("users")).filter((row) => row.email === email)).toHaveLength(1);
    });

    test("a reset link works once, and ends every login", async () => {
      const browser = await shop.loggedIn();
      const former = await shop.resetLink(EMAIL);
      const link = await shop.resetLink(EMAIL);
      expect(await rows("password_resets")).toHaveLength(1);
      expect(await shop.resetsPassword(former, "a password of the thief")).toBe(false);
      const uses = Array.from({ length: MANY }, () => shop.resetsPassword(link, NEW_PASSWORD));
      expect((await Promise.all(uses)).filter((used) => used)).toHaveLength(1);
      expect(await shop.isIn(browser)).toBe(false);
      expect(await shop.logsIn(shop.visitor(), EMAIL, PASSWORD)).toBe(false);
      expect(await shop.logsIn(shop.visitor(), EMAIL, NEW_PASSWORD)).toBe(true);
    });

    test("an address is changed, and the change is undone", async () => {
      const browser = await shop.loggedIn();
      await shop.verify(await shop.changeLink(browser, "later@example.org"), browser);
      expect((await shop.user())?.email).toBe("later@example.org");
      await shop.undo(await shop.linkTo(EMAIL));
      expect((await shop.user())?.email).toBe(EMAIL);
      expect(await shop.isIn(browser)).toBe(false);
    });

    test("of parallel renewals of an API token, one creates the new token, and all get it", async () => {
      const { json } = await shop.visitor().postJson("/api/auth", { username: EMAIL, password: PASSWORD });
      const { data: token } = json as { data: string };
      const renewals = Array.from({ length: MANY }, () => shop.visitor().postJson("/api/reauth", { token }));
      const answers = (await Promise.all(renewals)).map(({ status, json: body }) => JSON.stringify([status, body]));
      expect(answers[0]).toMatch(/^\[200,/);
      expect(new Set(answers).size).toBe(1);
    });

    test("of parallel claims of a task, one gets it", async () => {
      const database = shop.application.container.make("database");
      const claims = Array.from({ length: MANY }, () => new DatabaseTaskClaim(database, "report").take());
      expect((await Promise.all(claims)).filter((claim) => claim !== null)).toHaveLength(1);
      expect(await new DatabaseTaskClaim(database, "report").take()).toBeNull();
    });
  });

  test("limits count in the database, so only the allowed number of parallel guesses is tried", async () => {
    const attempts = 5;
    const login = { buckets: [{ by: ["account"], attempts, windowSeconds: 600 }] };
    const shop = await AccountShop.open(dialect, { limits: { login } });
    try {
      await shop.reset();
      const guess = (index: number): Promise<TestResponse> =>
        shop.send(shop.visitor(), "/login", { email: EMAIL, password: `guess ${index}` });
      // An account has two hashes at once.
      const paired = inPairs();
      const answers = await Promise.all(Array.from({ length: MANY }, (_, index) => paired(() => guess(index))));
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(MANY - attempts);
      const { kysely } = shop.application.container.make("database");
      expect(await kysely.selectFrom("rate_limits").select("attempts").execute()).not.toEqual([]);
      expect((await guess(MANY)).status).toBe(429);
    } finally {
      await shop.close();
    }
  });
});
