import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { LoginGuard, LoginStep } from "../../src/public/auth.ts";
import { Route } from "../../src/public/index.ts";
import { databaseSessions, SessionMiddleware, SessionProvider } from "../../src/public/session.ts";
import { freeze, travel, travelBack } from "../../src/public/testing.ts";
import { digest, generateSecret, KeyPurpose, Sealer } from "../../src/security/index.ts";
import { ADA, BOB, NEW_PASSWORD, PASSWORD, type TestAccounts, type Visitor } from "../support/account-application.ts";
import { inPairs } from "../support/in-pairs.ts";
import {
  accepted,
  blocked,
  CODE,
  CREDENTIALS,
  code,
  isIn,
  loginsOf,
  shopWith,
  target,
  terms,
} from "../support/login-steps.ts";
import { MemoryLogins } from "../support/memory-logins.ts";
import { PeopleProvider } from "../support/people.ts";
import { onEachDatabase } from "../support/services.ts";
import { TestUser, type TestWebOptions, testWeb } from "../support/web-application.ts";

afterEach(() => travelBack());
afterEach(() => accepted.clear());

const NEW = { name: "Eve", email: "eve@example.com", password: PASSWORD, password_confirmation: PASSWORD };

describe("a pending login", () => {
  test("continues from the step's page to the page that the visitor was going to", async () => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    await visitor.get("/logins");
    expect(target(await visitor.post("/login", { ...CREDENTIALS, remember: "1" }))).toEqual([302, "/terms"]);
    const told = await accounts.toldOf("auth.pending");
    expect(told).toMatchObject([{ guard: "web", user: { id: ADA.id }, step: "terms" }]);
    // A page for users redirects there as well.
    expect(target(await visitor.get("/logins"))).toEqual([302, "/terms"]);
    expect(target(await visitor.post("/terms"))).toEqual([302, "/logins"]);
    expect(await isIn(visitor)).toBe(true);
    const [{ authenticated_at, created_at, expires_at } = {}] = await accounts.rows("logins");
    // The password was proved before the step.
    expect(new Date(authenticated_at as string).getTime()).toBeLessThanOrEqual(
      new Date(created_at as string).getTime(),
    );
    // The choice made with the password counts.
    expect(Date.parse(String(expires_at)) - Date.parse(String(created_at))).toBe(30 * 86_400_000);
    expect((await accounts.toldOf("auth.login")).length).toBe(1);
    // It has been used up.
    await visitor.post("/logout");
    expect([target(await visitor.post("/terms")), await isIn(visitor)]).toEqual([[302, "/login"], false]);
  });

  test.each([
    ["/end-others", 2],
    ["/end-all", 3],
  ])("S22 is not counted among the logins that %s ends, and ends with them", async (path, count) => {
    accepted.add(ADA.email);
    const accounts = await shopWith([terms]);
    const [here, ...others] = [await accounts.loggedIn(), await accounts.loggedIn(), await accounts.loggedIn()];
    accepted.clear();
    const pending = accounts.visitor();
    expect(target(await pending.post("/login", CREDENTIALS))).toEqual([302, "/terms"]);
    expect((await here!.post(path)).body).toEqual({ ended: count });
    expect(target(await pending.post("/terms"))).toEqual([302, "/login"]);
    expect(await Promise.all([...others, pending].map((visitor) => isIn(visitor)))).toEqual([false, false, false]);
    expect((await accounts.rows("logins")).length).toBe(3 - count);
  });

  test("also applies to a registration", async () => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    expect(target(await visitor.post("/register", NEW))).toEqual([302, "/terms"]);
    await visitor.post("/terms");
    expect(await isIn(visitor)).toBe(true);
  });

  test("of a confirmation continues as a login that replaces the previous one, with the password proved", async () => {
    accepted.add(ADA.email);
    const accounts = await shopWith([terms]);
    const visitor = await accounts.loggedIn();
    const [before] = await accounts.rows("logins");
    accepted.clear();
    expect(target(await visitor.post("/confirm_password", { password: PASSWORD }))).toEqual([302, "/terms"]);
    await visitor.post("/terms");
    const rows = await accounts.rows("logins");
    expect([rows.length, rows[0]!.id === before!.id, await isIn(visitor)]).toEqual([1, false, true]);
  });

  test("waits for each step in turn, and does not require a step again that a proof has passed", async () => {
    const accounts = await shopWith([terms, code]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    const page = await visitor.get("/home");
    expect(target(page)).toEqual([302, "/terms"]);
    expect(target(await visitor.post("/terms"))).toEqual([302, "/code"]);
    expect(await isIn(visitor)).toBe(false);
    const { body } = await visitor.post("/pass");
    expect(body).toMatchObject({ step: "code", result: { status: "complete", user: { id: ADA.id } }, pending: null });
    expect(await isIn(visitor)).toBe(true);
  });

  test("passes only the required step", async () => {
    const accounts = await shopWith([terms, code]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    expect((await visitor.post("/pass")).body).toMatchObject({ step: "terms", pending: "code" });
    expect(await isIn(visitor)).toBe(false);
  });

  test("is not continued on another step's page, and its proof isn't verified", async () => {
    const accounts = await shopWith([terms, code]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    expect((await visitor.post("/pass", { step: "terms" })).body).toMatchObject({ pending: "code" });
    const { body } = await visitor.post("/pass", { step: "terms" });
    const result = {
      status: "pending",
      step: "code",
      page: "code",
      message: null,
      flows: [{ id: "code", url: "/code" }],
    };
    expect(body).toEqual({ step: "code", result, pending: "code" });
    expect([await isIn(visitor), await loginsOf(accounts)]).toEqual([false, []]);
    // It isn't an attempt either.
    for (let index = 0; index < 6; index++) {
      expect((await visitor.post("/pass", { step: "terms", code: "000000" })).status).toBe(200);
    }
    expect((await visitor.post("/pass", { step: "code" })).body).toMatchObject({ result: { status: "complete" } });
    expect(await isIn(visitor)).toBe(true);
  });

  test.each<[string, (accounts: TestAccounts) => unknown]>([
    ["ten minutes have passed", () => travel(10)],
    ["S51 access to the account has ended", async (accounts) => (await accounts.user()).endAccess()],
    ["the user is gone", async (accounts) => (await accounts.user()).delete()],
  ])("no longer exists once %s", async (_, meanwhile) => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    await meanwhile(accounts);
    expect([target(await visitor.post("/terms")), await isIn(visitor)]).toEqual([[302, "/login"], false]);
  });

  test("ends ten minutes after the password, however often it is resumed", async () => {
    freeze();
    const accounts = await shopWith([terms, code]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    travel(9);
    expect(target(await visitor.post("/terms"))).toEqual([302, "/code"]);
    travel(1);
    await visitor.post("/pass");
    expect(await isIn(visitor)).toBe(false);
  });

  test.each<[string, unknown]>([
    ["text", "wrong"],
    ["an object", { ok: false }],
    ["a number", 1],
  ])("is not completed by a proof that is %s instead of true", async (_, proof) => {
    const step: LoginStep = {
      name: "code",
      page: "code",
      check: async ({ prove }) => ((await prove(() => proof as boolean)) ? "passed" : "pending"),
    };
    const accounts = await shopWith([step]);
    const visitor = accounts.visitor();
    expect(target(await visitor.post("/login", CREDENTIALS))).toEqual([302, "/code"]);
    expect(await isIn(visitor)).toBe(false);
  });

  test("is not completed by an earlier proof if the step's last one failed", async () => {
    const twice: LoginStep = {
      name: "twice",
      async check({ prove }): Promise<"passed"> {
        await prove(() => true);
        await prove(() => false);
        return "passed";
      },
    };
    const seen: (readonly string[])[] = [];
    const after: LoginStep = {
      name: "after",
      check: ({ passed }) => {
        seen.push(passed);
        return "passed";
      },
    };
    const accounts = await shopWith([twice, after]);
    await accounts.visitor().post("/login", CREDENTIALS);
    expect(seen).toEqual([[]]);
  });

  test("S52 has no effect if access ends during it", async () => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    const store = accounts.application.container.make("logins").of("web");
    const { start } = store;
    store.start = async (login, proof) => {
      await (await accounts.user()).endAccess();
      return start.call(store, login, proof);
    };
    expect([target(await visitor.post("/terms")), await isIn(visitor)]).toEqual([[302, "/login"], false]);
    expect(await accounts.rows("logins")).toEqual([]);
  });

  test("S51 does not continue past a step if it was canceled while the next step was asked", async () => {
    let meanwhile = async (): Promise<unknown> => null;
    const next: LoginStep = { ...code, check: () => meanwhile().then(() => "pending" as const) };
    const accounts = await shopWith([terms, next]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    const copy = visitor.copy();
    meanwhile = () => copy.post("/cancel");
    expect([target(await visitor.post("/terms")), await accounts.rows("logins")]).toEqual([[302, "/login"], []]);
  });

  test("whose step has no page is reported by redirectToStep", async () => {
    const accounts = await shopWith([{ name: "approval", check: () => "pending" }]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    const { body } = await visitor.post("/code", {}, { accept: "application/json" });
    expect(body).toMatchObject({ status: 401, code: "E_LOGIN_PENDING", step: "approval" });
  });

  test("whose step names a page for users leads from there to the login, not to the same page", async () => {
    const accounts = await shopWith([{ ...terms, page: "logins" }]);
    const visitor = accounts.visitor();
    expect(target(await visitor.post("/login", CREDENTIALS))).toEqual([302, "/logins"]);
    expect(target(await visitor.get("/logins"))).toEqual([302, "/login"]);
  });

  test("ends if a step refuses another attempt by the same visitor, which is announced with its user", async () => {
    let isBlocked = false;
    const check: LoginStep["check"] = (login) => (isBlocked ? blocked.check(login) : "passed");
    const accounts = await shopWith([{ ...blocked, check }, terms]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    isBlocked = true;
    await visitor.post("/login", CREDENTIALS);
    expect(await accounts.toldOf("auth.failed")).toMatchObject([{ user: { id: ADA.id }, identifier: null }]);
    expect(await accounts.rows("logins")).toEqual([]);
    isBlocked = false;
    expect(target(await visitor.post("/terms"))).toEqual([302, "/login"]);
  });

  test.each([
    ["a step refuses the next one", true],
    ["the next one waits as well", false],
  ])("that cannot be ended makes the next attempt fail, if %s", async (_, blocks) => {
    let isBlocked = false;
    const check: LoginStep["check"] = (login) => (isBlocked ? blocked.check(login) : "passed");
    const accounts = await shopWith([{ ...blocked, check }, terms]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    isBlocked = blocks;
    accounts.database.onQuery(({ sql }) => {
      if (sql.startsWith('delete from "logins"')) throw new Error("The disk is full.");
    });
    expect((await visitor.post("/login", CREDENTIALS)).status).toBe(500);
    expect(await accounts.rows("logins")).toHaveLength(1);
  });

  test("gives a step its purpose, and the steps passed by a proof in this request or an earlier one", async () => {
    const seen: string[][] = [];
    const witness: LoginStep = {
      name: "witness",
      page: "code",
      check: ({ passed, purpose }) => {
        seen.push([purpose, ...passed]);
        return "pending";
      },
    };
    const accounts = await shopWith([code, witness]);
    const visitor = accounts.visitor();
    await visitor.post("/login", { ...CREDENTIALS, code: CODE });
    await visitor.post("/code");
    expect(seen).toEqual([
      ["login", "code"],
      ["login", "code"],
    ]);
  });

  test("is available as auth.pending even if the same request has failed before", async () => {
    const accounts = await shopWith([terms]);
    const { body } = await accounts.visitor().post("/second-attempt");
    expect(body).toEqual({ attempts: [null, null], pending: "terms" });
  });

  test("is not completed for another user that the class finds by a similar key", async () => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    const [ada, bob] = [await accounts.user(), await accounts.user(BOB.id)];
    Object.assign(bob, { accessEpoch: () => ada.accessEpoch() });
    vi.spyOn(accounts.User, "findByAuthId").mockImplementation(async () => bob as never);
    accepted.add(ADA.email);
    accepted.add(BOB.email);
    expect(target(await visitor.post("/terms"))).toEqual([302, "/login"]);
  });

  test("belongs to its row's user", async () => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    await accounts.database.kysely.updateTable("logins").set({ user_id: BOB.id }).execute();
    expect(target(await visitor.post("/terms"))).toEqual([302, "/login"]);
  });

  test("S69 belongs to one guard, and to one visitor", async () => {
    const accounts = await shopWith([terms]);
    const [visitor, stranger] = [accounts.visitor(), accounts.visitor()];
    await visitor.post("/admin/login", CREDENTIALS);
    for (const one of [visitor, stranger]) expect(target(await one.post("/terms"))).toEqual([302, "/login"]);
    expect(await loginsOf(accounts)).toEqual([]);
  });

  test("S18 is kept when the visitor gets a new session id", async () => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    const identity = async () => (await visitor.get("/identity")).body;
    const before = await identity();
    expect(await identity()).toEqual(before);
    await visitor.post("/login", CREDENTIALS);
    expect(await identity()).not.toEqual(before);
  });
});

describe.each<[string, object]>([
  ["a cookie", {}],
  ["the database", { config: { session: { SESSION: { store: databaseSessions() } } } }],
])("a pending login in a session in %s", (_, options) => {
  const REFUSED = [302, "/login"];
  let accounts: TestAccounts;
  let visitor: Visitor;
  beforeEach(async () => {
    accounts = await shopWith([terms], options);
    visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
  });

  test.each<[string, () => Promise<unknown>]>([
    ["it was completed", () => visitor.post("/terms")],
    ["it was completed, and the user logged out", () => visitor.post("/terms").then(() => visitor.post("/logout"))],
    ["it was cancelled", () => visitor.post("/cancel")],
    ["the visitor logged out", () => visitor.post("/logout")],
    ["the visitor began another login", () => visitor.post("/login", CREDENTIALS)],
    ["the visitor failed at another login", () => visitor.post("/login", { ...CREDENTIALS, password: "wrong" })],
    ["the user logged out everywhere else", () => logsOutOthers()],
    ["the user logged out everywhere", async () => expect(await (await accounts.user()).endAccess()).toBe(true)],
    ["the password was reset", () => resets()],
    ["the application saved a new password", () => saves()],
    ["the user was deleted", async () => expect(await (await accounts.user()).delete()).toBe(true)],
    ["ten minutes have passed", async () => travel(10)],
  ])("S51 cannot be replayed once %s", async (__, meanwhile) => {
    const kept = visitor.copy();
    await meanwhile();
    // That the user has accepted by now is no reason to let in a client that only kept a cookie.
    accepted.add(ADA.email);
    const before = await loginsOf(accounts);
    expect(target(await kept.post("/terms"))).toEqual(REFUSED);
    expect([await isIn(kept), await loginsOf(accounts)]).toEqual([false, before]);
  });

  test("S51 cannot be continued from a copy of the session made before a step was passed", async () => {
    const twoSteps = await shopWith([terms, code], options);
    const owner = twoSteps.visitor();
    await owner.post("/login", CREDENTIALS);
    const kept = owner.copy();
    expect(target(await owner.post("/terms"))).toEqual([302, "/code"]);
    for (const path of ["/terms", "/code"])
      expect(target(await kept.copy().post(path, { code: CODE }))).toEqual(REFUSED);
    expect([await isIn(kept), await loginsOf(twoSteps)]).toEqual([false, []]);
    expect(target(await owner.post("/code", { code: CODE }))).toEqual([302, "/home"]);
    // Nothing remains of either.
    expect(await twoSteps.rows("logins")).toEqual(await loginsOf(twoSteps));
  });

  test("S51 ends ten minutes after it began, even if a step was passed in the meantime", async () => {
    const twoSteps = await shopWith([terms, code], options);
    const owner = twoSteps.visitor();
    await owner.post("/login", CREDENTIALS);
    travel(6);
    expect(target(await owner.post("/terms"))).toEqual([302, "/code"]);
    travel(4);
    expect(target(await owner.post("/code", { code: CODE }))).toEqual(REFUSED);
  });

  test("S51 cannot be replayed after a restart", async () => {
    const kept = visitor.copy();
    await visitor.post("/terms");
    await visitor.post("/logout");
    const restarted = await shopWith([terms], { ...options, restarted: accounts });
    const replay = restarted.visitor();
    for (const [name, value] of kept.cookies) replay.cookies.set(name, value);
    expect(target(await replay.post("/terms"))).toEqual(REFUSED);
    expect(await loginsOf(restarted)).toEqual([]);
  });

  test("is completed only once, by any number of concurrent requests to two processes", async () => {
    const other = await shopWith([terms], { ...options, restarted: accounts });
    const copies = Array.from({ length: 8 }, (___, index) => {
      const copy = (index % 2 === 0 ? accounts : other).visitor();
      for (const [name, value] of visitor.cookies) copy.cookies.set(name, value);
      return copy;
    });
    accepted.add(ADA.email);
    const answers = await Promise.all(copies.map((copy) => copy.post("/terms")));
    const completed = answers.filter(({ headers }) => headers.get("location") === "/home");
    expect([completed.length, (await loginsOf(accounts)).length]).toEqual([1, 1]);
    const are = await Promise.all(copies.map((copy) => isIn(copy)));
    expect(are.filter(Boolean).length).toBe(1);
    expect((await accounts.rows("logins")).length).toBe(1);
  });

  test("keeps the visitor's destination, even after a wrong attempt", async () => {
    const guest = accounts.visitor();
    await guest.get("/logins");
    await guest.post("/login", { ...CREDENTIALS, password: "wrong" });
    await guest.post("/login", CREDENTIALS);
    expect(target(await guest.post("/terms"))).toEqual([302, "/logins"]);
  });

  test("leaves nothing behind once it was completed", async () => {
    await visitor.post("/terms");
    expect(await accounts.rows("logins")).toEqual(await loginsOf(accounts));
  });

  test("is pruned if it is abandoned", async () => {
    travel(10);
    expect(await accounts.application.prune()).toMatchObject({ logins: 1 });
    expect(await accounts.rows("logins")).toEqual([]);
  });

  async function logsOutOthers(): Promise<void> {
    accepted.add(ADA.email);
    const elsewhere = await accounts.loggedIn();
    accepted.clear();
    expect(target(await elsewhere.post("/logins", { __method: "DELETE" }))).toEqual([302, "/logins"]);
  }

  async function resets(): Promise<void> {
    const token = await accounts.resetToken();
    const form = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    expect(target(await accounts.visitor().post("/password_reset", form))).toEqual([302, "/login"]);
    expect(await accounts.rows("logins")).toEqual([]);
  }

  async function saves(): Promise<void> {
    const user = await accounts.user();
    await user.setPassword(NEW_PASSWORD);
    await user.save();
  }
});

describe("a visitor whose login is pending", () => {
  test("ends before a failed login by key returns", async () => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    await accounts.User.where("id", ADA.id).delete();
    const mend = accounts.database.onQuery(({ sql }) => {
      if (sql.startsWith('delete from "logins"')) throw new Error("The disk is full.");
    });
    expect((await visitor.post("/by-id")).status).toBe(500);
    mend();
    expect(await visitor.post("/by-id")).toMatchObject({ status: 200, body: { user: null } });
    expect(target(await visitor.post("/terms"))).toEqual([302, "/login"]);
  });

  test("is a guest on every page except the step's", async () => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    expect((await visitor.get("/me", { accept: "application/json" })).body).toEqual({ user: null });
    for (const path of ["/home", "/logins", "/members"]) {
      expect(target(await visitor.get(path))).toEqual([302, "/terms"]);
      expect((await visitor.get(path, { accept: "application/json" })).status).toBe(401);
    }
    expect(target(await visitor.post("/confirm_password", { password: PASSWORD }))).toEqual([302, "/terms"]);
    expect(target(await visitor.post("/logins", { __method: "DELETE" }))).toEqual([302, "/terms"]);
    expect((await visitor.get("/terms")).status).toBe(200);
    expect(await loginsOf(accounts)).toEqual([]);
  });

  test("cannot use the login's row as a login, whatever happens to its token", async () => {
    const accounts = await shopWith([terms]);
    await accounts.visitor().post("/login", CREDENTIALS);
    const token = "A".repeat(43);
    await accounts.database.kysely
      .updateTable("logins")
      .set({ token_hash: digest(token) })
      .execute();
    const thief = accounts.visitor();
    thief.cookies.set("__Host-token", token);
    expect(await isIn(thief)).toBe(false);
    // The cookie is the right one: with the user's epoch it would be a login.
    const { access_epoch } = (await accounts.rows("users"))[0]!;
    await accounts.database.kysely.updateTable("logins").set({ access_epoch }).execute();
    expect(await isIn(thief)).toBe(true);
  });

  test("is not among the devices that the user is logged in on", async () => {
    const accounts = await shopWith([terms]);
    accepted.add(ADA.email);
    const owner = await accounts.loggedIn();
    accepted.clear();
    await accounts.visitor().post("/login", CREDENTIALS);
    const { body } = await owner.get("/logins");
    expect([String(body).match(/<summary/g)?.length, (await accounts.rows("logins")).length]).toEqual([1, 2]);
  });
});

describe("the limit on passwords", () => {
  const PAIR = { by: ["account", "address"], attempts: 5, windowSeconds: 300 };
  const ADDRESS = { by: ["address"], attempts: 3, windowSeconds: 900 };
  const throttle = { login: { account: "email", buckets: [PAIR, ADDRESS] } };
  const wrong = { ...CREDENTIALS, password: "wrong" };

  test("S53 does not count complete logins by address, even if they waited for a step", async () => {
    const accounts = await shopWith([code], { throttle });
    for (let round = 0; round < 7; round++) {
      const visitor = accounts.visitor();
      expect(target(await visitor.post("/login", CREDENTIALS))).toEqual([302, "/code"]);
      expect(target(await visitor.post("/code", { code: CODE }))).toEqual([302, "/home"]);
      const api = await visitor.post("/api/auth", { username: ADA.email, password: PASSWORD });
      expect(api.body).toMatchObject({ code: "E_LOGIN_PENDING" });
      const right = await visitor.post("/api/auth", { username: ADA.email, password: PASSWORD, code: CODE });
      expect(right.status).toBe(200);
    }
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 4; attempt++)
      statuses.push((await accounts.visitor().post("/login", wrong)).status);
    expect(statuses).toEqual([303, 303, 303, 429]);
  });

  test("S53 clears the account's failures when it is completed, unless it began without the password", async () => {
    const accounts = await shopWith([code], { throttle: { login: { account: "email", buckets: [PAIR] } } });
    const visitor = accounts.visitor();
    const fail = async (times: number) => {
      for (let attempt = 0; attempt < times; attempt++) await accounts.visitor().post("/login", wrong);
    };
    await fail(3);
    await visitor.post("/as-ada");
    expect(target(await visitor.post("/code", { code: CODE }))).toEqual([302, "/home"]);
    await fail(1);
    const other = accounts.visitor();
    await other.post("/login", CREDENTIALS);
    await other.post("/code", { code: "000000" });
    expect((await accounts.visitor().post("/login", wrong)).status).toBe(429);
    expect(target(await other.post("/code", { code: CODE }))).toEqual([302, "/home"]);
    expect((await accounts.visitor().post("/login", wrong)).status).toBe(303);
  });

  test("S53 clears the account's failures for its own guard, whichever guard is active", async () => {
    const accounts = await shopWith([code], { throttle: { login: { account: "email", buckets: [PAIR] } } });
    const admin = accounts.visitor();
    const fail = async () => (await accounts.visitor().post("/admin/login", wrong)).status;
    for (let attempt = 0; attempt < 4; attempt++) await fail();
    await admin.post("/admin/login", CREDENTIALS);
    expect(await fail()).toBe(429);
    expect((await admin.post("/admin/pass", { code: CODE })).body).toMatchObject({ result: { status: "complete" } });
    expect(await fail()).toBe(303);
  });

  test("S53 counts logins that are never completed by account, until one is", async () => {
    const accounts = await shopWith([code], { throttle });
    const statuses: number[] = [];
    const visitor = accounts.visitor();
    for (let attempt = 0; attempt < 5; attempt++) statuses.push((await visitor.post("/login", CREDENTIALS)).status);
    statuses.push((await accounts.visitor().post("/login", CREDENTIALS)).status);
    expect(statuses).toEqual([302, 302, 302, 302, 302, 429]);
    expect(target(await visitor.post("/code", { code: CODE }))).toEqual([302, "/home"]);
    expect((await accounts.visitor().post("/login", CREDENTIALS)).status).toBe(302);
  });
});

describe("codes", () => {
  const guess = (visitor: Pick<Visitor, "post">, given: string) => visitor.post("/pass", { code: given });
  const pendingAt = async (accounts: TestAccounts, options: object = {}, who: { readonly email: string } = ADA) => {
    const visitor = accounts.visitor(options);
    await visitor.post("/login", { email: who.email, password: PASSWORD });
    return visitor;
  };

  test("S33 can be tried five times in a quarter of an hour for one account, from any address", async () => {
    const accounts = await shopWith([code]);
    const statuses: number[] = [];
    for (let index = 1; index <= 7; index++) {
      const visitor = await pendingAt(accounts, { ip: `203.0.113.${index}` });
      statuses.push((await guess(visitor, "000000")).status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    // The right one is refused as well, everywhere: otherwise each way in would have its own set of attempts.
    const visitor = await pendingAt(accounts, { ip: "198.51.100.1" });
    expect((await guess(visitor, CODE)).status).toBe(429);
    expect((await visitor.post("/code", { code: CODE })).status).toBe(429);
    const credentials = { username: ADA.email, password: PASSWORD };
    expect((await visitor.post("/api/auth", { ...credentials, code: CODE })).status).toBe(429);
    expect(await loginsOf(accounts)).toEqual([]);
    // Another account has its own attempts, and this one has some again later.
    expect((await guess(await pendingAt(accounts, {}, BOB), CODE)).status).toBe(200);
    travel(15);
    expect((await guess(await pendingAt(accounts), CODE)).body).toMatchObject({ result: { status: "complete" } });
  });

  test("S33 can be tried twenty times a day", async () => {
    const accounts = await shopWith([code]);
    const statuses: number[] = [];
    for (let index = 0; index < 5; index++) {
      const visitor = await pendingAt(accounts, { ip: `203.0.113.${index}` });
      for (let attempt = 0; attempt < 5; attempt++) statuses.push((await guess(visitor, "000000")).status);
      travel(15);
    }
    expect([statuses.indexOf(429), statuses.length]).toEqual([20, 25]);
    expect((await guess(await pendingAt(accounts), CODE)).status).toBe(429);
    travel(24 * 60);
    expect((await guess(await pendingAt(accounts), CODE)).status).toBe(200);
  });

  test("S33 are not verified past that limit, even if many arrive concurrently", async () => {
    let verified = 0;
    const counted: LoginStep = {
      ...code,
      check: ({ prove }) => prove(() => ++verified < 0).then(() => "pending" as const),
    };
    const accounts = await shopWith([counted]);
    const credentials = { username: ADA.email, password: PASSWORD };
    // An account has two hashes at once.
    const paired = inPairs();
    const guesses = Array.from({ length: 20 }, (_, index) => {
      return paired(() => accounts.visitor({ ip: `198.51.100.${index}` }).post("/api/auth", credentials));
    });
    const answers = await Promise.all(guesses);
    expect([verified, answers.filter(({ status }) => status === 429).length]).toEqual([5, 15]);
  });

  test("that are correct use up no attempts, and report no failure", async () => {
    const accounts = await shopWith([code]);
    for (let round = 0; round < 41; round++) {
      expect((await guess(await pendingAt(accounts), CODE)).body).toMatchObject({ result: { status: "complete" } });
    }
    expect((await accounts.toldOf("auth.failed")).length).toBe(0);
  });

  test("S33 that are correct give back no other attempt, so the owner's logins don't help a guessing client", async () => {
    const accounts = await shopWith([code]);
    const guesser = await pendingAt(accounts);
    const statuses: number[] = [];
    for (let round = 0; round < 6; round++) {
      statuses.push((await guess(guesser, "000000")).status);
      const { status } = await guess(await pendingAt(accounts, { ip: "198.51.100.1" }), CODE);
      expect(status).toBe(round < 4 ? 200 : 429);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    const failures = await accounts.toldOf("auth.failed");
    expect(failures).toMatchObject(Array(5).fill({ guard: "web", user: { id: ADA.id }, identifier: null }));
  });

  describe.each(["login.step", "login.step.total"])("under the limit %s", (limit) => {
    const throttle = { [limit]: { buckets: [{ by: ["account"], attempts: 2, windowSeconds: 900 }] } };

    test("S33 that are correct do not give back a wrong one from the same request", async () => {
      const accounts = await shopWith([code], { throttle });
      const codes = ["000000", CODE];
      const first = await (await pendingAt(accounts)).post("/pass-each", { codes });
      expect(first.body).toMatchObject({ results: [{ status: "pending" }, { status: "complete" }] });
      // The second wrong one leaves no attempt for the right one.
      expect((await (await pendingAt(accounts)).post("/pass-each", { codes })).status).toBe(429);
    });

    test("S69 are counted for the users of their guard, whichever guard is active", async () => {
      const accounts = await shopWith([code], { throttle });
      const admin = accounts.visitor();
      await admin.post("/admin/login", CREDENTIALS);
      for (const status of [200, 200, 429]) {
        expect((await admin.post("/admin/pass", { code: "000000" })).status).toBe(status);
      }
      expect((await guess(await pendingAt(accounts), CODE)).body).toMatchObject({ result: { status: "complete" } });
    });

    test("S33 are counted for each step", async () => {
      const pin: LoginStep = { name: "pin", page: "code", check: () => "pending" };
      const accounts = await shopWith([code, pin], { throttle });
      const visitor = await pendingAt(accounts);
      expect((await guess(visitor, CODE)).body).toMatchObject({ pending: "pin" });
      for (const status of [200, 200, 429]) expect((await guess(visitor, "000000")).status).toBe(status);
      expect((await guess(await pendingAt(accounts), CODE)).body).toMatchObject({ pending: "pin" });
    });
  });

  test("S54 on a known device have separate attempts if the limit also counts by address", async () => {
    const buckets = [{ by: ["account", "address"], attempts: 1, windowSeconds: 60 }];
    const accounts = await shopWith([code], { throttle: { "login.step": { buckets } } });
    const ip = "203.0.113.7";
    const owner = await pendingAt(accounts, { ip });
    await guess(owner, CODE);
    await owner.post("/logout");
    const stranger = await pendingAt(accounts, { ip });
    for (const status of [200, 429]) expect((await guess(stranger, "000000")).status).toBe(status);
    await owner.post("/login", CREDENTIALS);
    expect((await guess(owner, CODE)).body).toMatchObject({ result: { status: "complete" } });
  });

  test("S33 are counted by step, and another step's proof gives none back", async () => {
    const accounts = await shopWith([terms, code]);
    const statuses: number[] = [];
    for (let round = 0; round < 3; round++) {
      const visitor = await pendingAt(accounts);
      expect((await visitor.post("/pass")).body).toMatchObject({ step: "terms", pending: "code" });
      for (let attempt = 0; attempt < 2; attempt++) statuses.push((await guess(visitor, "000000")).status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    // The other step has its own attempts.
    expect((await guess(await pendingAt(accounts), "000000")).status).toBe(200);
  });

  test("S33 S51 can be tried again once the password has changed, forty times a day in total", async () => {
    const accounts = await shopWith([code]);
    const renew = async (password: string) => {
      const user = await accounts.user();
      await user.setPassword(password);
      await user.save();
    };
    const statuses: number[] = [];
    for (let round = 0; round < 9; round++) {
      const password = `password number ${round}`;
      await renew(password);
      const visitor = accounts.visitor();
      await visitor.post("/login", { email: ADA.email, password });
      if (round < 8) {
        for (let attempt = 0; attempt < 5; attempt++) statuses.push((await guess(visitor, "000000")).status);
        expect((await guess(visitor, CODE)).status).toBe(429);
      } else statuses.push((await guess(visitor, CODE)).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 40 }, () => 200), 429]);
    travel(24 * 60);
    await renew(PASSWORD);
    expect((await guess(await pendingAt(accounts), CODE)).body).toMatchObject({ result: { status: "complete" } });
  });

  test("that are wrong leave the login unchanged", async () => {
    const accounts = await shopWith([code]);
    const visitor = await pendingAt(accounts);
    const before = await accounts.rows("logins");
    const wrong = {
      step: "code",
      result: { status: "pending", step: "code", page: "code", message: null, flows: [{ id: "code", url: "/code" }] },
      pending: "code",
    };
    expect((await guess(visitor, "000000")).body).toEqual(wrong);
    expect(await accounts.rows("logins")).toEqual(before);
    expect(target(await visitor.post("/code", { code: "000000" }))).toEqual([302, "/code"]);
    expect(await accounts.rows("logins")).toEqual(before);
    expect(await isIn(visitor)).toBe(false);
    expect((await guess(visitor, CODE)).body).toMatchObject({ result: { status: "complete" }, pending: null });
  });
});

await onEachDatabase("a login that waits for a step", (engine) => {
  test("S52 is completed only once by any number of concurrent requests, and not by a replayed one", async () => {
    const accounts = await shopWith([terms], { engine });
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    const copies = Array.from({ length: 6 }, () => visitor.copy());
    accepted.add(ADA.email);
    const answers = await Promise.all(copies.map((copy) => copy.post("/terms")));
    expect(answers.map((answer) => target(answer)[1]).toSorted()).toEqual(["/home", ...Array(5).fill("/login")]);
    expect(await accounts.rows("logins")).toEqual(await loginsOf(accounts));
    expect(target(await visitor.post("/terms"))).toEqual([302, "/login"]);
  });

  test("S52 does not begin once access has ended, and leaves nothing behind", async () => {
    const check: LoginStep["check"] = async () => {
      await (await accounts.user()).endAccess();
      return "pending" as const;
    };
    const accounts = await shopWith([{ ...terms, check }], { engine });
    const visitor = accounts.visitor();
    const { status } = await visitor.post("/as-ada");
    expect([status, await accounts.rows("logins")]).toEqual([401, []]);
  });
});

describe("an application's own guard", () => {
  const routes = [
    Route.post("/begin", ({ auth }) => (auth.guard("cookie") as unknown as LoginGuard).login(ADA.email, PASSWORD)),
    Route.get("/terms", () => "Accept our terms.").name("terms"),
    Route.get("/cookie/terms", () => "Accept our terms.").name("cookie.terms"),
    Route.post("/go-on", async ({ auth }) => {
      const login = await (auth.guard("cookie") as unknown as LoginGuard).pendingLogin();
      accepted.add(ADA.email);
      return { result: (await login?.resume())?.status ?? null };
    }),
  ];
  const stepped = (User: typeof TestUser, own: object = {}): TestWebOptions => ({
    User,
    routes,
    stack: [SessionMiddleware],
    providers: [SessionProvider, PeopleProvider],
    guards: { cookie: { driver: "cookie", model: User }, steps: [terms], ...own },
  });

  test("keeps its pending logins in the store of another, and completes each once", async () => {
    class User extends TestUser {}
    const web = await testWeb(stepped(User));
    const browser = web.browser();
    expect((await browser.post("/begin")).body).toMatchObject({ status: "pending", step: "terms" });
    const copy = browser.copy();
    expect((await browser.post("/go-on")).body).toEqual({ result: "complete" });
    expect([browser.cookies.get("person"), await web.rows()]).toEqual([String(ADA.id), []]);
    expect((await copy.post("/go-on")).body).toEqual({ result: null });
    expect(copy.cookies.has("person")).toBe(false);
  });

  test("keeps them in its own store if it has one", async () => {
    class User extends TestUser {}
    const logins = new MemoryLogins();
    const begin = Route.post("/desk/begin", async ({ auth }) => ({
      user: await (auth.guard("desk") as unknown as LoginGuard).attempt(ADA.email, PASSWORD),
    }));
    const own = { desk: { driver: "web", model: User, logins } };
    const web = await testWeb({ ...stepped(User, own), routes: [...routes, begin] });
    expect((await web.browser().post("/desk/begin")).body).toEqual({ user: null });
    expect([logins.logins.size, await web.rows()]).toEqual([1, []]);
  });

  test("keeps no pending login if the application has no login store, so that none can be replayed", async () => {
    class User extends TestUser {}
    const web = await testWeb(stepped(User, { web: { driver: "cookie", model: User } }));
    const browser = web.browser();
    expect((await browser.post("/begin")).body).toMatchObject({ status: "pending", step: "terms" });
    expect((await browser.post("/go-on")).body).toEqual({ result: null });
  });

  test("S8 keeps its pending login in the session, sealed for the guard under a separate key", async () => {
    class User extends TestUser {}
    const environment = { APP_KEY: generateSecret() };
    const kept = Route.get("/kept", ({ session }) => ({ sealed: session.get("pending_login cookie") }));
    const web = await testWeb({ ...stepped(User), routes: [...routes, kept], environment });
    const browser = web.browser();
    await browser.post("/begin");
    const { sealed } = (await browser.get("/kept")).body as { sealed: string };
    const opened = (purpose: string, guard: string) =>
      new Sealer(environment.APP_KEY, new KeyPurpose(purpose)).open(guard, sealed, 600);
    expect(JSON.parse(opened("pending-login", "cookie")!)).toMatchObject({ step: "terms", id: String(ADA.id) });
    expect([opened("session", "cookie"), opened("pending-login", "web")]).toEqual([null, null]);
  });

  test("ignores a pending login from a time when the application still had a store", async () => {
    class User extends TestUser {}
    class Member extends TestUser {}
    const environment = { APP_KEY: generateSecret() };
    const browser = (await testWeb({ ...stepped(User), environment })).browser();
    await browser.post("/begin");
    const own = { web: { driver: "cookie", model: Member } };
    const without = await testWeb({ ...stepped(Member, own), environment });
    const later = without.browser();
    for (const [name, value] of browser.cookies) later.cookies.set(name, value);
    expect(await later.post("/go-on")).toMatchObject({ status: 200, body: { result: null } });
  });

  test("S65 verifies no proof without limits", async () => {
    class User extends TestUser {}
    let verified = 0;
    const check: LoginStep["check"] = ({ prove }) => prove(() => ++verified > 0).then(() => "passed" as const);
    const web = await testWeb(stepped(User, { steps: [{ name: "code", check }] }));
    const { status, body } = await web.browser().post("/begin", {}, { accept: "application/json" });
    expect([status, (body as { code: string }).code, verified]).toEqual([500, "E_INVALID_CONFIGURATION", 0]);
  });
});
