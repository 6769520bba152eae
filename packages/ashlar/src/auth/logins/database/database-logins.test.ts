import { afterEach, describe, expect, test } from "vitest";
import { onEachDatabase, type TestEngine } from "../../../../test/support/services.ts";
import { ADA, BOB, PASSWORD, TestUser, type TestWeb, testWeb } from "../../../../test/support/web-application.ts";
import { dateOf } from "../../../database/index.ts";
import { now, setClock } from "../../../support/index.ts";
import { type LoginStoreUnderTest, loginStoreSuite } from "../../../testing/index.ts";
import type { LoginPruning, LoginStore } from "../login-store.ts";

const MINUTE = 60_000;

function travel(minutes: number): void {
  const then = now() + minutes * MINUTE;
  setClock(() => then);
}

const storeOf = ({ application }: TestWeb): LoginStore => application.container.make("logins").of("web");

function pruning(endedBefore: Date): LoginPruning {
  return { endedBefore, unusedSince: new Date(0), existingUsers: async () => null };
}

afterEach(() => setClock(null));

/** The store with users next to its table: a login and its user are one statement. */
async function withUsersBeside(engine: TestEngine): Promise<LoginStoreUnderTest> {
  class User extends TestUser {}
  const web = await testWeb({ engine, User, guards: { staff: { driver: "web", model: User } } });
  return {
    store: storeOf(web),
    users: {
      guards: ["web", "staff"],
      read: async (index) => (await User.find(index === 0 ? ADA.id : BOB.id))!,
      endAccess: async (index) => void (await (await User.find(index === 0 ? ADA.id : BOB.id))!.endAccess()),
    },
  };
}

/** The store with users of another kind, for which it calls a function to check a proof. */
async function withUsersElsewhere(engine: TestEngine): Promise<LoginStoreUnderTest> {
  const { Person } = await import("../../../../test/support/people.ts");
  const web = await testWeb({
    engine,
    guards: { people: { driver: "web", model: Person }, others: { driver: "web", model: Person } },
  });
  return { store: storeOf(web), guards: ["people", "others"], keys: [1, 2] };
}

await onEachDatabase("databaseLogins()", (engine) => {
  describe("with users who are rows next to the logins", () => {
    for (const { title, run } of loginStoreSuite(() => withUsersBeside(engine))) test(title, run);
  });

  describe("with users of another class", () => {
    for (const { title, run } of loginStoreSuite(() => withUsersElsewhere(engine))) test(title, run);
  });

  describe("ends all logins", () => {
    const populated = async (): Promise<TestWeb> => {
      const web = await testWeb({ engine });
      for (const user of [ADA, ADA, BOB]) await web.loggedIn(user);
      await web.database.kysely.updateTable("logins").set({ guard: "staff" }).where("id", "=", 2).execute();
      return web;
    };
    const left = async (web: TestWeb) => (await web.rows()).map(({ id }) => id);

    test("S22 of one user with one guard", async () => {
      const web = await populated();
      expect(await storeOf(web).endAll({ guard: "web", userId: 1 })).toBe(1);
      expect(await left(web)).toEqual([2, 3]);
      expect(await storeOf(web).endAll({ guard: "staff", userId: 1 })).toBe(1);
      expect(await left(web)).toEqual([3]);
      expect(await storeOf(web).endAll({ guard: "web", userId: 99 })).toBe(0);
    });

    test("S22 as part of a transaction", async () => {
      const web = await populated();
      const failing = web.database.transaction(async () => {
        await storeOf(web).endAll({ guard: "web", userId: 1 });
        throw new Error("The password could not be stored.");
      });
      await expect(failing).rejects.toThrow("The password could not be stored.");
      expect(await left(web)).toEqual([1, 2, 3]);
    });
  });

  test("prunes the logins that have ended, and no others", async () => {
    const web = await testWeb({ engine });
    const browser = web.browser();
    await browser.post("/login", { email: ADA.email, password: PASSWORD, remember: true });
    await web.loggedIn();
    travel(60);
    await web.loggedIn(BOB);
    const prune = async (at: number) => (await storeOf(web).prune(pruning(new Date(at)))).logins;
    expect(await prune(now())).toBe(0);
    travel(60);
    expect(await prune(now())).toBe(1);
    expect((await web.rows()).map(({ id }) => id)).toEqual([1, 3]);
    expect(await prune(now() + 60 * MINUTE)).toBe(1);
    expect((await browser.get("/me")).body).toEqual({ user: ADA });
  });
});

test("guards without the option logins share a store, which prunes once", async () => {
  class User extends TestUser {}
  const web = await testWeb({ User, guards: { staff: { driver: "web", model: User } } });
  const logins = web.application.container.make("logins");
  expect([logins.all.length, logins.of("web") === logins.of("staff")]).toEqual([1, true]);
  for (const user of [ADA, ADA, BOB]) await web.loggedIn(user);
  await web.database.kysely.updateTable("logins").set({ guard: "staff" }).where("id", "=", 2).execute();
  const [login] = await web.rows();
  setClock(() => dateOf(login!.expires_at).getTime() + MINUTE);
  web.forgetQueries();
  expect(await web.application.prune()).toMatchObject({ logins: 3 });
  expect(web.queries.filter((sql) => /^select .*"expires_at" <= /.test(sql))).toHaveLength(1);
  expect(await web.rows()).toEqual([]);
});
