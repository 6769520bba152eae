import { describe, expect, test } from "vitest";
import {
  ADA,
  BOB,
  FullUser,
  NEW_PASSWORD,
  PASSWORD,
  PlainUser,
  testAccounts,
  type Visitor,
} from "../../../../test/support/account-application.ts";
import { sentencesIn } from "../../../../test/support/field-errors.ts";
import { CookieGuard, guardProvider, HeaderGuard } from "../../../../test/support/people.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import type { HttpContext } from "../../../http/index.ts";
import { Route } from "../../../routing/index.ts";
import type { CredentialHolder } from "../../access/end-access.ts";
import type { LoginGuard } from "../../guards/login-guard.ts";

const CHANGED = "/home";
const SENT = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };

async function change(visitor: Visitor, sent: object = SENT): Promise<string | null> {
  return (await visitor.post("/account/password", sent)).headers.get("location");
}

/** The response to a caller that accepts JSON: the status, and the messages by field. */
async function problems(visitor: Visitor, sent: object): Promise<unknown> {
  const { status, body } = await visitor.post("/account/password", sent, { accept: "application/json" });
  return [status, sentencesIn(body)];
}

await onEachDatabase("changePassword()", (engine) => {
  test("S22 ends all other logins and the API token; this login continues", async () => {
    const accounts = await testAccounts({ engine });
    const [here, there, elsewhere] = [
      await accounts.loggedIn(),
      await accounts.loggedIn(),
      await accounts.loggedIn(BOB),
    ];
    await accounts.User.where("id", ADA.id).update({ api_token: "a".repeat(43) });
    expect(await change(here)).toBe(CHANGED);
    expect(await here.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
    expect(await there.get("/me")).toMatchObject({ body: { user: null } });
    expect(await elsewhere.get("/me")).toMatchObject({ body: { user: { id: BOB.id } } });
    expect((await accounts.user()).api_token).toBeNull();
    await accounts.loggedIn(ADA, NEW_PASSWORD);
    await expect(accounts.loggedIn(ADA, PASSWORD)).rejects.toThrow("The login failed.");
  });

  test.each(["", " "])("mails nothing to an account whose address is %j, and logs no error", async (email) => {
    const logged: Record<string, unknown>[] = [];
    const accounts = await testAccounts({ engine, logged });
    const visitor = await accounts.loggedIn();
    await accounts.database.kysely.updateTable("users").set({ email }).where("id", "=", ADA.id).execute();
    await accounts.mails();
    expect(await change(visitor)).toBe(CHANGED);
    expect(await accounts.mails()).toEqual([]);
    expect(logged.filter(({ level }) => level === "error" || Number(level) >= 50)).toEqual([]);
    expect(await (await accounts.user()).verifyPassword(NEW_PASSWORD)).toBe(true);
  });

  test("S22 this login continues if another guard has the same users, and the logins there end", async () => {
    class User extends FullUser {}
    const accounts = await testAccounts({
      engine,
      User,
      guards: { desk: { driver: "web", model: User } },
      routes: [
        Route.post("/desk/login", async ({ auth }) => ({
          user: await auth.guard("desk").attempt(ADA.email, PASSWORD),
        })),
        Route.get("/desk/me", async ({ auth }) => ({ user: await auth.guard("desk").user() })),
      ],
    });
    const [here, desk] = [await accounts.loggedIn(), accounts.visitor()];
    await desk.post("/desk/login");
    expect(await desk.get("/desk/me")).toMatchObject({ body: { user: { id: ADA.id } } });
    expect(await change(here)).toBe(CHANGED);
    expect(await here.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
    expect(await desk.get("/desk/me")).toMatchObject({ body: { user: null } });
  });

  test("S22 a previously stolen session token is no longer accepted", async () => {
    const accounts = await testAccounts({ engine });
    const visitor = await accounts.loggedIn();
    const thief = visitor.copy({ origin: "https://shop.example" });
    expect(await change(visitor)).toBe(CHANGED);
    expect(await thief.get("/me")).toMatchObject({ body: { user: null } });
  });

  test("of 20 parallel changes with one old password, one succeeds", async () => {
    const accounts = await testAccounts({ engine });
    const visitors = await Promise.all(Array.from({ length: 20 }, () => accounts.loggedIn()));
    const passwords = visitors.map((_, index) => `a password of number ${index}`);
    const statuses = await Promise.all(
      visitors.map(async (visitor, index) => {
        const password = passwords[index];
        const json = { accept: "application/json" };
        const sent = { current_password: PASSWORD, password, password_confirmation: password };
        return (await visitor.post("/account/password", sent, json)).status;
      }),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    const winner = passwords[statuses.indexOf(200)]!;
    expect(await (await accounts.user()).verifyPassword(winner)).toBe(true);
    expect(await accounts.toldOf("auth.password_changed")).toHaveLength(1);
  });

  test("is all or nothing: if the logins cannot be ended, the password stays", async () => {
    const accounts = await testAccounts({ engine });
    const visitor = await accounts.loggedIn();
    const stop = accounts.database.onQuery(({ sql }) => {
      if (sql.startsWith('delete from "logins"')) throw new Error("The disk is full.");
    });
    expect(await problems(visitor, SENT)).toEqual([500, undefined]);
    stop();
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
    expect(await accounts.toldOf("auth.password_changed")).toEqual([]);
    expect(await accounts.mails()).toEqual([]);
  });
});

describe("changePassword()", () => {
  test("is refused without the current password, and announced as a failed login", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    for (const current_password of ["another password", "", null, undefined]) {
      const expected = [422, { current_password: ["Incorrect password."] }];
      expect(await problems(visitor, { ...SENT, current_password })).toEqual(expected);
    }
    expect(await accounts.toldOf("auth.failed")).toHaveLength(4);
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
  });

  test.each([
    ["short", "short", { password: ["The password is too short. Use at least 8 characters."] }],
    [PASSWORD, PASSWORD, { password: ["This is your current password. Choose a different one."] }],
    [NEW_PASSWORD, "another", { password_confirmation: ["The passwords do not match."] }],
    [NEW_PASSWORD, null, { password_confirmation: ["The passwords do not match."] }],
    [["a list"], ["a list"], expect.objectContaining({ password: ["The password must be text."] })],
    [12_345_678, 12_345_678, { password: ["The password must be text."] }],
  ])("S31 refuses %j with %j, and the other logins continue", async (password, password_confirmation, errors) => {
    const accounts = await testAccounts();
    const [visitor, other] = [await accounts.loggedIn(), await accounts.loggedIn()];
    const sent = { current_password: PASSWORD, password, password_confirmation };
    expect(await problems(visitor, sent)).toEqual([422, errors]);
    expect(await other.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
    expect(await accounts.mails()).toEqual([]);
  });

  test("S36 a current password that is a list, an object or a number is 422", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    for (const current_password of [[PASSWORD], { a: PASSWORD }, 7]) {
      const expected = [422, { current_password: ["This must be text."] }];
      expect(await problems(visitor, { ...SENT, current_password })).toEqual(expected);
    }
  });

  test("a refused password is not left on the model, because the next save would store it", async () => {
    const routes = [
      Route.post("/careless", async ({ accounts: own, auth }) => {
        await own.changePassword(PASSWORD, NEW_PASSWORD, "another").catch(() => null);
        const user = (await auth.user()) as unknown as { isDirty(): boolean; save(): Promise<unknown> };
        await user.save();
        return { isDirty: user.isDirty() };
      }),
    ];
    const accounts = await testAccounts({ routes });
    await (await accounts.loggedIn()).post("/careless");
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
  });

  test("a notice is mailed", async () => {
    const accounts = await testAccounts();
    await change(await accounts.loggedIn());
    const [mail, ...others] = await accounts.mails();
    expect([mail?.to, mail?.subject, others]).toEqual([ADA.email, "Your password was changed", []]);
    expect(mail?.text).toContain("You have been logged out on all other devices.");
  });

  test("a guest is sent to /login, and refused by the service itself if no middleware did so", async () => {
    const routes = [
      Route.post("/open", ({ accounts: own }) => own.changePassword(PASSWORD, NEW_PASSWORD, NEW_PASSWORD)),
    ];
    const accounts = await testAccounts({ routes });
    expect(await change(accounts.visitor())).toBe("/login");
    const answer = await accounts.visitor().post("/open", {}, { accept: "application/json" });
    expect(answer).toMatchObject({ status: 401, body: { code: "E_UNAUTHENTICATED" } });
  });

  test("S47 the event contains time, user, address and guard, and no password", async () => {
    const accounts = await testAccounts();
    await change(await accounts.loggedIn());
    expect(await accounts.toldOf("auth.password_changed")).toEqual([
      { time: expect.any(Date), address: "203.0.113.7", guard: "web", user: expect.objectContaining({ id: ADA.id }) },
    ]);
    const told = JSON.stringify(accounts.told);
    expect([told.includes(PASSWORD), told.includes(NEW_PASSWORD), told.includes("$argon2")]).toEqual([
      false,
      false,
      false,
    ]);
  });

  test("S22 ends a token that the model keeps in its own way, or changes nothing", async () => {
    const kept = { digest: "a digest" as string | null, isBroken: true };
    class User extends PlainUser implements CredentialHolder {
      async endCredentials(): Promise<void> {
        if (kept.digest === null) return;
        if (kept.isBroken) throw new Error("broken");
        kept.digest = null;
      }
    }
    const accounts = await testAccounts({ User });
    const visitor = await accounts.loggedIn();
    expect(await problems(visitor, SENT)).toEqual([500, undefined]);
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
    kept.isBroken = false;
    expect([await change(visitor), kept.digest]).toEqual([CHANGED, null]);
    // There is nothing left to end.
    kept.isBroken = true;
    const passwords = { password: PASSWORD, password_confirmation: PASSWORD };
    expect(await change(visitor, { current_password: NEW_PASSWORD, ...passwords })).toBe(CHANGED);
  });

  test("asks for the password even with a guard without logins, and ends the logins on all devices", async () => {
    const change = Route.post("/by-header", async ({ accounts: own, request }) => {
      await own.changePassword(request.input("current_password"), NEW_PASSWORD, NEW_PASSWORD);
      return "changed";
    });
    class User extends FullUser {}
    const accounts = await testAccounts({
      User,
      providers: [guardProvider({ header: HeaderGuard })],
      guards: { header: { model: User } },
      routes: [change.middleware("auth:header")],
    });
    const [ada, bob] = [await accounts.loggedIn(), await accounts.loggedIn(BOB)];
    const send = (current_password: string) => {
      const headers = { "x-person": String(ADA.id), accept: "application/json" };
      return accounts.visitor().post("/by-header", { current_password }, headers);
    };
    const errors = { current_password: ["Incorrect password."] };
    const { status, body } = await send("another password");
    expect([status, sentencesIn(body)]).toEqual([422, errors]);
    const user = expect.objectContaining({ id: ADA.id });
    expect(await accounts.toldOf("auth.failed")).toEqual([
      { time: expect.any(Date), address: "203.0.113.7", guard: "header", user, identifier: null, by: "password" },
    ]);
    expect(await send(PASSWORD)).toMatchObject({ status: 200, body: "changed" });
    expect(await ada.get("/me")).toMatchObject({ body: { user: null } });
    expect(await bob.get("/me")).toMatchObject({ body: { user: { id: BOB.id } } });
    await accounts.loggedIn(ADA, NEW_PASSWORD);
  });

  test("a wrong password is the problem, even if another login with the guard waits for a step", async () => {
    class User extends FullUser {}
    const logIn = async ({ auth }: HttpContext) =>
      (auth.guard("cookie") as unknown as LoginGuard).login(ADA.email, PASSWORD);
    const changing = ({ accounts }: HttpContext) => accounts.changePassword("wrong", NEW_PASSWORD, NEW_PASSWORD);
    const steps = [{ name: "terms", check: () => "pending" }];
    const accounts = await testAccounts({
      User,
      providers: [guardProvider({ cookie: CookieGuard })],
      guards: { cookie: { model: User, steps } },
      routes: [Route.post("/by-cookie/login", logIn), Route.post("/by-cookie", changing).middleware("auth:cookie")],
    });
    const visitor = accounts.visitor();
    expect((await visitor.post("/by-cookie/login")).body).toMatchObject({ status: "pending", step: "terms" });
    visitor.cookies.set("person", String(ADA.id));
    const { status, body } = await visitor.post("/by-cookie", {}, { accept: "application/json" });
    expect([status, sentencesIn(body)]).toEqual([422, { current_password: ["Incorrect password."] }]);
  });

  test("S52 is refused, with a remedy, if access ends while the new password is hashed", async () => {
    class User extends FullUser {
      override async setPassword(password: unknown): Promise<void> {
        await super.setPassword(password);
        await (await accounts.user()).endAccess();
      }
    }
    const accounts = await testAccounts({ User });
    expect(await problems(await accounts.loggedIn(), SENT)).toEqual([
      422,
      { current_password: ["Your account has changed in the meantime. Log in again."] },
    ]);
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
  });
});
