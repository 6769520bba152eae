import { afterEach, describe, expect, test } from "vitest";
import {
  ADA,
  AdminUser,
  APP_URL,
  BOB,
  linkIn,
  NEW_PASSWORD,
  outcomeOf,
  PASSWORD,
  PlainUser,
  type TestAccounts,
  testAccounts,
  type Visitor,
} from "../../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../../test/support/account-controllers.ts";
import { sentencesIn } from "../../../../test/support/field-errors.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import type { CapturedMail } from "../../../mail/index.ts";
import { Route } from "../../../routing/index.ts";
import { digest } from "../../../security/index.ts";
import { setClock } from "../../../support/index.ts";
import { memoryStore, ThrottleProvider } from "../../../throttle/index.ts";
import { epochDigestOf } from "../links/account-links.ts";
import { authRoutes } from "../pages/auth-routes.ts";

afterEach(() => setClock(null));

const DONE = "/login";
const DEAD = "/change_password";

/** The redirect target after a token is used. */
async function reset(
  accounts: TestAccounts,
  token: unknown,
  password: string = NEW_PASSWORD,
  path = "/password_reset",
): Promise<string | null> {
  const sent = { token, password, password_confirmation: password };
  return (await accounts.visitor().post(path, sent)).headers.get("location");
}

/** The response to a caller that accepts JSON: the status, and the messages by field. */
async function problems(accounts: TestAccounts, sent: object, path = "/password_reset"): Promise<unknown> {
  const { status, body } = await accounts.visitor().post(path, sent, { accept: "application/json" });
  return [status, sentencesIn(body)];
}

/** A visitor with a session, like anyone who sends a form. */
async function withSession(accounts: TestAccounts): Promise<Visitor> {
  const visitor = accounts.visitor();
  await visitor.get("/register");
  return visitor;
}

/** The same browser before it has received anything else. */
function again(accounts: TestAccounts, visitor: Visitor, ip?: string): Visitor {
  const copy = accounts.visitor(ip === undefined ? {} : { ip });
  for (const [name, value] of visitor.cookies) copy.cookies.set(name, value);
  return copy;
}

const form = (token: string, password = NEW_PASSWORD) => ({ token, password, password_confirmation: password });

await onEachDatabase("a new password that arrives twice", (engine) => {
  test("S39 at the same time is set once, and every response equals the first", async () => {
    const accounts = await testAccounts({ engine });
    const token = await accounts.resetToken();
    const visitor = await withSession(accounts);
    const copies = Array.from({ length: 4 }, () => again(accounts, visitor));
    const answers = await Promise.all(copies.map((copy) => copy.post("/password_reset", form(token))));
    expect(answers.map(({ headers }) => headers.get("location"))).toEqual(Array(4).fill(DONE));
    await accounts.loggedIn(ADA, NEW_PASSWORD);
    expect(await accounts.toldOf("auth.password_reset")).toHaveLength(1);
    expect(await accounts.mails()).toHaveLength(1);
  });
});

describe("a new password that arrives twice", () => {
  const sentOnce = async (throttle: object = {}) => {
    const accounts = await testAccounts({ throttle, store: memoryStore() });
    const token = await accounts.resetToken();
    const visitor = await withSession(accounts);
    const copy = again(accounts, visitor);
    expect((await visitor.post("/password_reset", form(token))).headers.get("location")).toBe(DONE);
    await accounts.mails();
    const send = async (sender: Visitor, password?: string) =>
      (await sender.post("/password_reset", form(token, password))).headers.get("location");
    return { accounts, visitor, copy, token, send };
  };

  test("S39 later, as after a lost response, is answered like the first", async () => {
    const { accounts, visitor, copy, send } = await sentOnce();
    expect([await send(copy), await send(visitor)]).toEqual([DONE, DONE]);
    expect(await accounts.mails()).toEqual([]);
    expect(await accounts.toldOf("auth.password_reset")).toHaveLength(1);
    expect(await accounts.toldOf("auth.failed")).toEqual([]);
  });

  test("S39 S133 doesn't count as a guess if it is correct, however often it arrives", async () => {
    const often = { buckets: [{ by: ["address"], attempts: 1000, windowSeconds: 60 }] };
    const { accounts, copy, send } = await sentOnce({ password_reset: often });
    const answers = [];
    for (let count = 0; count < 110; count++) answers.push(await send(again(accounts, copy)));
    expect(answers).toEqual(Array(110).fill(DONE));
  });

  test("S39 S133 lets its device in as the first one does, so that guesses by others don't keep the visitor out", async () => {
    const { accounts, copy, send } = await sentOnce();
    expect(await send(copy)).toBe(DONE);
    const login = async (visitor: Visitor, password: string) =>
      (await visitor.post("/login", { email: ADA.email, password })).status;
    for (let count = 0; count < 110; count++) {
      await login(accounts.visitor({ ip: `100.64.${count}.1` }), `wrong password ${count}`);
    }
    expect(await login(accounts.visitor({ ip: "100.65.1.1" }), NEW_PASSWORD)).toBe(429);
    expect(await login(copy, NEW_PASSWORD)).toBe(302);
  });

  test("S39 does not count as a guess if it comes with an older link for the account", async () => {
    const accounts = await testAccounts();
    const [older, newer] = [await accounts.resetToken(), await accounts.resetToken()];
    const visitor = await withSession(accounts);
    const copy = again(accounts, visitor);
    expect((await visitor.post("/password_reset", form(newer))).headers.get("location")).toBe(DONE);
    expect((await copy.post("/password_reset", form(older))).headers.get("location")).toBe(DEAD);
    expect(await accounts.toldOf("auth.failed")).toEqual([]);
  });

  test("S39 S69 is refused on the page of another guard, and is answered like the first on the guard's own", async () => {
    const Admin = class Admin extends AdminUser {};
    const accounts = await testAccounts({
      guards: { admin: { driver: "web", model: Admin } },
      models: [Admin],
      routes: [authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/admin")],
    });
    await accounts.visitor().post("/admin/change_password", { email: ADA.email });
    const token = new URL(await accounts.link(), APP_URL).searchParams.get("token")!;
    const visitor = await withSession(accounts);
    const [elsewhere, same] = [again(accounts, visitor), again(accounts, visitor)];
    const send = async (sender: Visitor, path: string) =>
      (await sender.post(path, form(token))).headers.get("location");
    expect(await send(visitor, "/admin/password_reset")).toBe("/admin/login");
    expect(await send(elsewhere, "/password_reset")).toBe(DEAD);
    expect(await send(same, "/admin/password_reset")).toBe("/admin/login");
  });

  test("S39 is refused if it differs from the first, and is announced as a failed login", async () => {
    const { accounts, copy, send } = await sentOnce();
    expect(await send(copy, "yet another password")).toBe(DEAD);
    await accounts.loggedIn(ADA, NEW_PASSWORD);
    expect(await accounts.toldOf("auth.failed")).toMatchObject([{ user: { email: ADA.email } }]);
  });

  test("S39 is refused from another visitor, with or without a session, without counting as a guess", async () => {
    const { accounts, send } = await sentOnce();
    expect([await send(await withSession(accounts)), await send(accounts.visitor())]).toEqual([DEAD, DEAD]);
    expect(await accounts.toldOf("auth.failed")).toEqual([]);
  });

  test("S39 is refused if access to the account has ended in the meantime", async () => {
    const { accounts, copy, send } = await sentOnce();
    await (await accounts.user()).endAccess();
    expect(await send(copy)).toBe(DEAD);
  });

  test("S39 S133 counts as a guess at the account: once all guesses are used up, the correct one is refused", async () => {
    const { accounts, copy, token } = await sentOnce();
    const guess = (count: number) => {
      const stranger = accounts.visitor({ ip: `100.64.${count}.1` });
      return stranger.post("/login", { email: ADA.email, password: `wrong password ${count}` });
    };
    for (let count = 0; count < 110; count++) await guess(count);
    expect((await guess(110)).status).toBe(429);
    const thief = again(accounts, copy, "100.65.1.1");
    expect((await thief.post("/password_reset", form(token))).status).toBe(429);
  });
});

await onEachDatabase("a reset link", (engine) => {
  test("S39 sets the password once, and the old one is refused afterwards", async () => {
    const accounts = await testAccounts({ engine });
    const token = await accounts.resetToken();
    expect(await reset(accounts, token)).toBe(DONE);
    expect(await accounts.rows("password_resets")).toEqual([]);
    await accounts.loggedIn(ADA, NEW_PASSWORD);
    await expect(accounts.loggedIn(ADA, PASSWORD)).rejects.toThrow("The login failed.");
    expect(await reset(accounts, token, "yet another password")).toBe(DEAD);
    await accounts.loggedIn(ADA, NEW_PASSWORD);
  });

  test("S39 20 parallel uses result in one change, one event and one mail", async () => {
    const accounts = await testAccounts({ engine });
    const token = await accounts.resetToken();
    const passwords = Array.from({ length: 20 }, (_, index) => `a password of number ${index}`);
    const outcomes = await Promise.all(passwords.map((password) => reset(accounts, token, password)));
    expect(outcomes.filter((outcome) => outcome === DONE)).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === DEAD)).toHaveLength(19);
    const winner = passwords[outcomes.indexOf(DONE)]!;
    expect(await (await accounts.user()).verifyPassword(winner)).toBe(true);
    expect(await accounts.toldOf("auth.password_reset")).toHaveLength(1);
    expect(await accounts.mails()).toHaveLength(1);
  });

  test("S39 a newer request invalidates the older link", async () => {
    const accounts = await testAccounts({ engine });
    const [first, second] = [await accounts.resetToken(), await accounts.resetToken()];
    expect(await accounts.rows("password_resets")).toHaveLength(1);
    expect(await reset(accounts, first)).toBe(DEAD);
    expect(await reset(accounts, second)).toBe(DONE);
  });

  test("S39 uses up no link of another user", async () => {
    const accounts = await testAccounts({ engine });
    const tokens = [await accounts.resetToken(ADA), await accounts.resetToken(BOB)] as const;
    expect(await reset(accounts, tokens[1])).toBe(DONE);
    await accounts.loggedIn(BOB, NEW_PASSWORD);
    await accounts.loggedIn(ADA, PASSWORD);
    expect(await reset(accounts, tokens[0])).toBe(DONE);
  });

  test("20 parallel requests leave one link that works", async () => {
    const accounts = await testAccounts({ engine });
    const visitor = accounts.visitor();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => visitor.post("/change_password", { email: ADA.email })),
    );
    expect(answers.every(({ status }) => status === 302)).toBe(true);
    const tokens = (await accounts.mails()).map((mail) => new URL(linkIn(mail)).searchParams.get("token"));
    expect(await accounts.rows("password_resets")).toHaveLength(1);
    expect(new Set(tokens).size).toBe(20);
    const outcomes: (string | null)[] = [];
    for (const token of tokens) outcomes.push(await reset(accounts, token));
    expect(outcomes.filter((outcome) => outcome === DONE)).toHaveLength(1);
  });

  test("S39 is invalid after passwordResetExpiration minutes, decided by the server", async () => {
    const accounts = await testAccounts({ engine, guards: { passwordResetExpiration: 30 } });
    const token = await accounts.resetToken();
    const start = Date.now();
    setClock(() => start + 31 * 60_000);
    expect(await reset(accounts, token)).toBe(DEAD);
    // Users should not have to think of a better password for a link that would refuse that one too.
    expect(await reset(accounts, token, "short")).toBe(DEAD);
    setClock(() => start + 29 * 60_000);
    expect(await reset(accounts, token)).toBe(DONE);
  });

  test("S39 never expires if passwordResetExpiration is null", async () => {
    const accounts = await testAccounts({ engine, guards: { passwordResetExpiration: null } });
    const token = await accounts.resetToken();
    const start = Date.now();
    setClock(() => start + 10 * 365 * 86_400_000);
    expect(await reset(accounts, token)).toBe(DONE);
  });

  test("S39 is also invalid if it expires before the new password is hashed", async () => {
    const accounts = await testAccounts({ engine, guards: { passwordResetExpiration: 30 } });
    const token = await accounts.resetToken();
    const start = Date.now();
    const end = accounts.database.onQuery(({ sql }) => {
      if (/^select .* join "password_resets"/.test(sql)) setClock(() => start + 31 * 60_000);
    });
    expect(await reset(accounts, token)).toBe(DEAD);
    end();
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
    expect(await accounts.rows("password_resets")).toHaveLength(1);
    expect([await accounts.toldOf("auth.password_reset"), await accounts.mails()]).toEqual([[], []]);
  });

  test("S52 is invalid if access to the account ends while it is used", async () => {
    const accounts = await testAccounts({ engine });
    const token = await accounts.resetToken();
    const find = accounts.User.findByAuthId;
    accounts.User.findByAuthId = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
      accounts.User.findByAuthId = find;
      const user = await Reflect.apply(find, this, args);
      await (await accounts.user()).endAccess();
      return user;
    } as typeof find;
    expect(await reset(accounts, token)).toBe(DEAD);
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
    expect([await accounts.toldOf("auth.password_reset"), await accounts.mails()]).toEqual([[], []]);
  });

  test("S22 ends every session of the user and the API token, and no other user's", async () => {
    const accounts = await testAccounts({ engine });
    const devices = [await accounts.loggedIn(), await accounts.loggedIn()];
    const bob = await accounts.loggedIn(BOB);
    await accounts.User.where("id", ADA.id).update({ api_token: "a".repeat(43) });
    await accounts.User.where("id", BOB.id).update({ api_token: "b".repeat(43) });
    expect(await reset(accounts, await accounts.resetToken())).toBe(DONE);
    for (const device of devices) expect(await device.get("/me")).toMatchObject({ body: { user: null } });
    expect(await bob.get("/me")).toMatchObject({ body: { user: { id: BOB.id } } });
    expect((await accounts.rows("logins")).map(({ user_id }) => user_id)).toEqual([BOB.id]);
    expect([(await accounts.user()).api_token, (await accounts.user(BOB.id)).api_token]).toEqual([
      null,
      "b".repeat(43),
    ]);
  });

  test("S39 is not used up if ending the logins fails: all or nothing", async () => {
    const accounts = await testAccounts({ engine });
    const token = await accounts.resetToken();
    await accounts.database.kysely.schema.alterTable("logins").renameTo("elsewhere").execute();
    const sent = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    expect(await problems(accounts, sent)).toEqual([500, undefined]);
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
    await accounts.database.kysely.schema.alterTable("elsewhere").renameTo("logins").execute();
    expect(await accounts.toldOf("auth.password_reset")).toEqual([]);
    expect(await reset(accounts, token)).toBe(DONE);
  });
});

describe("a reset link", () => {
  test("S39 is not used up by a refused password", async () => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    const refused = [
      ["short", "short", { password: ["The password is too short. Use at least 8 characters."] }],
      [
        "password1",
        "password1",
        { password: ["This password is one of the most common and easy to guess. Choose a different one."] },
      ],
      [PASSWORD, PASSWORD, { password: ["This is your current password. Choose a different one."] }],
      [NEW_PASSWORD, "another", { password_confirmation: ["The passwords do not match."] }],
      [NEW_PASSWORD, undefined, { password_confirmation: ["The passwords do not match."] }],
      [undefined, undefined, { password: ["The password must be text."] }],
      [
        "short",
        "shorter",
        {
          password: ["The password is too short. Use at least 8 characters."],
          password_confirmation: ["The passwords do not match."],
        },
      ],
    ] as const;
    for (const [password, password_confirmation, errors] of refused) {
      expect(await problems(accounts, { token, password, password_confirmation })).toEqual([422, errors]);
    }
    expect(await reset(accounts, token)).toBe(DONE);
  });

  test("S31 any Unicode is accepted as a password, exactly as typed, without trimming or case folding", async () => {
    const accounts = await testAccounts();
    const password = "  pässwörd ſß 密碼 🔑 ";
    expect(await reset(accounts, await accounts.resetToken(), password)).toBe(DONE);
    await accounts.loggedIn(ADA, password);
    await expect(accounts.loggedIn(ADA, password.trim())).rejects.toThrow("The login failed.");
  });

  test("S36 a password or token that is a list, an object or a number is 422", async () => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    for (const wrong of [[NEW_PASSWORD], { a: NEW_PASSWORD }, 123_456_789, true]) {
      expect(await problems(accounts, { token, password: wrong, password_confirmation: wrong })).toMatchObject([
        422,
        { password: ["The password must be text."] },
      ]);
      const sent = { token: wrong, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
      expect(await problems(accounts, sent)).toEqual([422, { token: ["This must be text."] }]);
    }
    expect(await reset(accounts, token)).toBe(DONE);
  });

  test.each([undefined, null, "", "garbage", "a.b", "x".repeat(10_000)])("the token %j is invalid", async (token) => {
    const accounts = await testAccounts();
    expect(await reset(accounts, token)).toBe(DEAD);
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
  });

  test("is stored as a digest, which is useless as a token", async () => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    const [row] = await accounts.rows("password_resets");
    expect(row).toMatchObject({ email: ADA.email, token: digest(token) });
    expect(await reset(accounts, row!.token)).toBe(DEAD);
  });

  test("S8 with a row in the table, but a token that was not created here, is invalid", async () => {
    const accounts = await testAccounts();
    const token = "planted";
    const created_at = new Date();
    const row = { guard: "web", email: ADA.email, token: digest(token), created_at, expires_at: null };
    await accounts.database.kysely.insertInto("password_resets").values(row).execute();
    expect(await reset(accounts, token)).toBe(DEAD);
  });

  test("of a guard that no longer exists is invalid", async () => {
    const accounts = await testAccounts();
    const { links, resets } = accounts.application.container.make("accounts");
    const token = links.reset({ guard: "gone", id: String(ADA.id), epoch: epochDigestOf(await accounts.user()) });
    await resets.replace("gone", ADA.email, token, { users: null, email: ADA.email, isKnown: true });
    expect(await reset(accounts, token)).toBe(DEAD);
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
  });

  test("does not log the user in", async () => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    const visitor = accounts.visitor();
    await visitor.post("/password_reset", { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD });
    expect(await visitor.get("/me")).toMatchObject({ body: { user: null } });
    expect(await accounts.toldOf("auth.login")).toEqual([]);
  });

  test("of a deleted user, or one whose address is now another user's, is invalid", async () => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    await accounts.User.where("id", ADA.id).update({ email: "moved@example.com" });
    await accounts.User.where("id", BOB.id).update({ email: ADA.email });
    expect(await reset(accounts, token)).toBe(DEAD);
    expect(await (await accounts.user(BOB.id)).verifyPassword(PASSWORD)).toBe(true);
    await (await accounts.user()).delete();
    expect(await reset(accounts, token)).toBe(DEAD);
  });

  test("S37 sets the password of the user it was mailed to, whichever user is logged in", async () => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    const bob = await accounts.loggedIn(BOB);
    const sent = {
      token,
      password: NEW_PASSWORD,
      password_confirmation: NEW_PASSWORD,
      user_id: BOB.id,
      email: BOB.email,
    };
    expect((await bob.post("/password_reset", sent)).headers.get("location")).toBe(DONE);
    await accounts.loggedIn(ADA, NEW_PASSWORD);
    await accounts.loggedIn(BOB, PASSWORD);
  });

  test("of another guard sets that guard's user's password, even if key and address are the same", async () => {
    const Admin = class Admin extends AdminUser {};
    const routes = [
      Route.post("/admin/forgot", async ({ accounts: own, request }) => {
        await own.requestPasswordReset(request.input("email"));
        return { done: true };
      }).middleware("guard:admin"),
    ];
    const accounts = await testAccounts({ routes, guards: { admin: { driver: "web", model: Admin } } });
    Admin.useDatabase(accounts.database);
    const user = await accounts.loggedIn();
    await accounts.visitor().post("/admin/forgot", { email: ADA.email });
    const token = new URL(linkIn((await accounts.mails())[0])).searchParams.get("token");
    expect(await reset(accounts, token)).toBe(DONE);
    expect(await (await Admin.findOrFail(1)).verifyPassword(NEW_PASSWORD)).toBe(true);
    expect(await (await accounts.user()).verifyPassword(PASSWORD)).toBe(true);
    expect(await user.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
    expect(await accounts.toldOf("auth.password_reset")).toMatchObject([{ guard: "admin" }]);
  });

  test("S69 of a guard with its own pages is invalid on those of another", async () => {
    const Admin = class Admin extends AdminUser {};
    const accounts = await testAccounts({
      guards: { admin: { driver: "web", model: Admin } },
      models: [Admin],
      routes: [authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/admin")],
    });
    await accounts.visitor().post("/admin/change_password", { email: ADA.email });
    const token = new URL(await accounts.link(), APP_URL).searchParams.get("token");
    expect(await reset(accounts, token)).toBe(DEAD);
    expect(await reset(accounts, token, NEW_PASSWORD, "/admin/password_reset")).toBe("/admin/login");
  });

  test("that was used costs one query", async () => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    await reset(accounts, token);
    accounts.forgetQueries();
    expect(await reset(accounts, token)).toBe(DEAD);
    expect(accounts.queriesBesideLimits).toEqual([expect.stringMatching(/^select .* join "password_resets"/)]);
  });

  test("S53 gives back the attempts to log in to its own account, and none to that of another guard", async () => {
    const Admin = class Admin extends AdminUser {};
    const accounts = await testAccounts({
      guards: { admin: { driver: "web", model: Admin } },
      models: [Admin],
      throttle: {
        login: { account: "email", buckets: [{ by: ["account", "address"], attempts: 1, windowSeconds: 60 }] },
      },
      routes: [
        Route.post("/admin/forgot", async ({ accounts: own }) => {
          await own.requestPasswordReset(ADA.email);
          return "";
        }).middleware("guard:admin"),
        Route.post("/admin/attempt", async ({ auth, request }) => {
          return { user: await auth.attempt(request.input("email"), request.input("password")) };
        }).middleware("guard:admin", "throttle:login"),
      ],
    });
    const isRefused = async (path: string, password: string): Promise<boolean> => {
      return (await accounts.visitor().post(path, { email: ADA.email, password })).status === 429;
    };
    for (const path of ["/login", "/admin/attempt"]) {
      expect([await isRefused(path, "a guess"), await isRefused(path, "a guess")]).toEqual([false, true]);
    }
    await accounts.visitor().post("/admin/forgot");
    const token = new URL(linkIn((await accounts.mails())[0])).searchParams.get("token");
    expect(await reset(accounts, token)).toBe(DONE);
    expect([await isRefused("/login", PASSWORD), await isRefused("/admin/attempt", NEW_PASSWORD)]).toEqual([
      true,
      false,
    ]);
  });

  test("S53 is announced once the attempts to log in are given back", async () => {
    const accounts = await testAccounts();
    const { container } = accounts.application;
    const throttle = container.make("throttle");
    const clear = throttle.clear.bind(throttle);
    const order: string[] = [];
    const token = await accounts.resetToken();
    throttle.clear = async (...args) => {
      await clear(...args);
      await new Promise(setImmediate);
      order.push("given back");
    };
    container.make("events").on("auth.password_reset", () => void order.push("told"));
    expect(await reset(accounts, token)).toBe(DONE);
    await accounts.toldOf("auth.password_reset");
    expect(order).toEqual(["given back", "told"]);
  });

  test("S180 verifies the address it was mailed to, once", async () => {
    const accounts = await testAccounts();
    expect((await accounts.user()).verified_at).toBeNull();
    expect(await reset(accounts, await accounts.resetToken())).toBe(DONE);
    const { verified_at } = await accounts.user();
    expect([verified_at, (await accounts.toldOf("auth.email_verified")).length]).toEqual([expect.any(Date), 1]);
    setClock(() => Date.now() + 60_000);
    expect(await reset(accounts, await accounts.resetToken(), "yet another password")).toBe(DONE);
    expect((await accounts.user()).verified_at).toEqual(verified_at);
    expect((await accounts.toldOf("auth.email_verified")).length).toBe(1);
  });

  test("S180 and a verification link that is followed in the meantime verify the address once", async () => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    await accounts.loggedIn().then((visitor) => visitor.post("/email/resend"));
    const link = await accounts.link();
    const { users } = accounts.application.container.make("accounts");
    const hashing = users.hashPasswordOf.bind(users);
    // The link is followed after the reset has read the user, and before it changes anything.
    users.hashPasswordOf = async (...args) => {
      const hash = await hashing(...args);
      expect(await outcomeOf(accounts.visitor(), link)).toBe("verified");
      return hash;
    };
    expect(await reset(accounts, token)).toBe(DONE);
    expect((await accounts.user()).verified_at).toBeInstanceOf(Date);
    expect((await accounts.toldOf("auth.email_verified")).length).toBe(1);
    await accounts.loggedIn(ADA, NEW_PASSWORD);
  });

  test("S180 works and verifies nothing without MustVerifyEmail", async () => {
    const accounts = await testAccounts({ User: class User extends PlainUser {} });
    expect(await reset(accounts, await accounts.resetToken())).toBe(DONE);
    expect([(await accounts.rows("users"))[0]!.verified_at, await accounts.toldOf("auth.email_verified")]).toEqual([
      null,
      [],
    ]);
  });

  test("S180 neither sets the password nor verifies the address if the address has changed since, whatever changed it", async () => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    const { users } = accounts.application.container.make("accounts");
    const hashing = users.hashPasswordOf.bind(users);
    users.hashPasswordOf = async (...args) => {
      const hash = await hashing(...args);
      await accounts.database.kysely
        .updateTable("users")
        .set({ email: "new@example.com" })
        .where("id", "=", 1)
        .execute();
      return hash;
    };
    expect(await reset(accounts, token)).toBe(DEAD);
    expect(await accounts.user()).toMatchObject({ email: "new@example.com", verified_at: null });
  });

  test("needs no ThrottleProvider", async () => {
    const groups = Object.keys(ACCOUNT_CONTROLLERS).map((group) => [group, false] as const);
    const accounts = await testAccounts({
      leftOut: Object.fromEntries(groups),
      without: [ThrottleProvider],
      routes: [
        Route.post("/change_password", async ({ accounts: own }) => ({
          sent: await own.requestPasswordReset(ADA.email),
        })),
        Route.post("/password_reset", async ({ accounts: own, request }) => {
          return { user: await own.resetPassword(request.input("token"), NEW_PASSWORD, NEW_PASSWORD) };
        }).name("password_reset"),
      ],
    });
    const token = await accounts.resetToken();
    expect(await accounts.visitor().post("/password_reset", { token })).toMatchObject({
      body: { user: { id: ADA.id } },
    });
    expect(await (await accounts.user()).verifyPassword(NEW_PASSWORD)).toBe(true);
  });

  test("a notice is mailed afterwards, without a link", async () => {
    const accounts = await testAccounts();
    await reset(accounts, await accounts.resetToken());
    const mails = await accounts.mails();
    expect(mails.map(({ to, subject }) => [to, subject])).toEqual([[ADA.email, "Your password was changed"]]);
    expect(mails[0]?.text).toContain("You have been logged out everywhere.");
    expect(mails[0]?.text).not.toMatch(/https?:/);
  });

  test("S47 the event contains time, user, address and guard, and neither token nor password", async () => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    await reset(accounts, token);
    const [event] = await accounts.toldOf("auth.password_reset");
    const user = expect.objectContaining({ id: ADA.id });
    expect(event).toEqual({ time: expect.any(Date), address: "203.0.113.7", guard: "web", user });
    expect(JSON.stringify(accounts.told)).not.toContain(token);
    expect(JSON.stringify(accounts.told)).not.toContain(NEW_PASSWORD);
  });
});

describe("requesting a reset link", () => {
  test("S39 does not change the account", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    const before = [await accounts.rows("users"), await accounts.rows("logins")];
    await accounts.resetToken();
    expect([await accounts.rows("users"), await accounts.rows("logins")]).toEqual(before);
    expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
  });

  test("S32 an unknown address gets byte for byte the same response as a known one, and no mail", async () => {
    const logged: Record<string, unknown>[] = [];
    const accounts = await testAccounts({ logged });
    const answers: unknown[] = [];
    for (const [ip, email] of [
      ["203.0.113.1", ADA.email],
      ["203.0.113.2", "nobody@example.com"],
    ] as const) {
      const visitor = accounts.visitor({ ip });
      const { status, headers, body, setCookies } = await visitor.post("/change_password", { email });
      // The session's cookie is sealed: each time, its bytes differ, but their number is the same.
      const sealed = (text: string) =>
        text.replace(/^(__Host-session=)([^;]*)/, (_, name, value) => name + value.length);
      const named = [...headers].filter(([name]) => name !== "set-cookie");
      answers.push([status, named, body, setCookies.map(sealed)]);
    }
    expect(answers[0]).toEqual(answers[1]);
    expect((await accounts.mails()).map(({ to }) => to)).toEqual([ADA.email]);
    expect(logged).toEqual([]);
  });

  test("S32 the database does the same work for an unknown address as for a known one", async () => {
    const accounts = await testAccounts();
    const statements: string[][] = [];
    for (const email of [ADA.email, "nobody@example.com", ADA.email, "nobody@example.com"]) {
      accounts.forgetQueries();
      await accounts.visitor().post("/change_password", { email });
      await accounts.mails();
      statements.push([...accounts.queriesBesideLimits]);
    }
    const words = ([run]: string[][]) => run!.map((sql) => sql.split(" ", 1)[0]);
    expect(words(statements.slice(1))).toEqual(["insert", "begin", "delete", "select", "insert", "commit"]);
    expect(statements[3]).toEqual(statements[1]);
    // The only difference is the mail itself: it is stored, and deleted once it is sent.
    const [promised, ...rest] = statements[1]!;
    const [stored, deleted] = [promised, rest.find((sql) => sql.startsWith("delete"))];
    for (const known of [statements[0], statements[2]]) {
      expect(known).toEqual([promised, ...rest.slice(0, -1), stored, "commit", deleted]);
    }
  });

  test("an unknown address isn't stored anywhere: one of 4096 placeholders replaces it, and keeps its row on the next request", async () => {
    const accounts = await testAccounts();
    const email = "nobody@example.com";
    for (let time = 0; time < 3; time++) await accounts.visitor().post("/change_password", { email });
    await accounts.mails();
    const rows = await accounts.rows("password_resets");
    expect(rows).toEqual([expect.objectContaining({ email: expect.stringMatching(/^nobody-[\w-]{2}$/) })]);
    expect(JSON.stringify(rows)).not.toContain(email);
  });

  test("the row of an unknown address is useless after the address is registered", async () => {
    const accounts = await testAccounts();
    await accounts.visitor().post("/change_password", { email: "nobody@example.com" });
    await accounts.mails();
    await accounts.User.where("id", BOB.id).update({ email: "nobody@example.com" });
    const [row] = await accounts.rows("password_resets");
    expect(await reset(accounts, row!.token)).toBe(DEAD);
  });

  test.each([ADA.email, "nobody@example.com"])(
    "for %s mails nothing if no link can be stored, and logs why",
    async (email) => {
      const logged: Record<string, unknown>[] = [];
      const accounts = await testAccounts({ logged });
      const stop = accounts.database.onQuery(({ sql }) => {
        if (sql.startsWith('insert into "password_resets"')) throw new Error("The disk is full.");
      });
      expect((await accounts.visitor().post("/change_password", { email })).status).toBe(302);
      expect([await accounts.mails(), await accounts.toldOf("auth.password_reset_requested")]).toEqual([[], []]);
      stop();
      expect(logged).toMatchObject([
        { level: "error", job: "a password reset", err: { message: expect.stringContaining("The disk is full.") } },
      ]);
    },
  );

  test("without a page for a new password, the response says so, whether or not the address has an account", async () => {
    const accounts = await testAccounts({ leftOut: { resetPassword: false } });
    for (const email of [ADA.email, "nobody@example.com"]) {
      const answer = await accounts.visitor().post("/change_password", { email }, { accept: "application/json" });
      expect(answer).toMatchObject({ status: 500, body: { code: "E_UNKNOWN_ROUTE" } });
    }
    expect([await accounts.mails(), await accounts.rows("password_resets")]).toEqual([[], []]);
  });

  test("S35 the address is used in its normal form", async () => {
    const accounts = await testAccounts();
    await accounts.visitor().post("/change_password", { email: " ＡDA@Example.COM " });
    expect((await accounts.mails()).map(({ to }) => to)).toEqual([ADA.email]);
  });

  test.each([
    [[ADA.email], "This must be text."],
    [{ a: 1 }, "This must be text."],
    [7, "This must be text."],
    [null, "Enter an email address."],
    [undefined, "Enter an email address."],
    ["", "Enter an email address."],
    ["no address", "This is not a valid email address."],
    [`${ADA.email}, eve@example.com`, "This is not a valid email address."],
    [`${ADA.email}\nBcc: eve@example.com`, "This is not a valid email address."],
    [`<${ADA.email}>`, "This is not a valid email address."],
    [`${ADA.email}@example.com`, "This is not a valid email address."],
    [`${"a".repeat(300)}@example.com`, "This is not a valid email address."],
  ])("S36 the address %j is 422", async (email, message) => {
    const accounts = await testAccounts();
    expect(await problems(accounts, { email }, "/change_password")).toEqual([422, { email: [message] }]);
    expect(await accounts.mails()).toEqual([]);
  });

  test("S40 the link's host is APP_URL's, regardless of the request", async () => {
    const accounts = await testAccounts();
    const evil = { host: "evil.example", "x-forwarded-host": "evil.example" };
    const { headers } = await accounts.visitor().post("/change_password", { email: ADA.email }, evil);
    const [mail] = await accounts.mails();
    expect(linkIn(mail).startsWith(`${APP_URL}/password_reset?token=`)).toBe(true);
    expect(JSON.stringify([mail, [...headers]])).not.toContain("evil");
  });

  test("S40 without APP_URL known and unknown addresses get the same response, and the link has the default's host", async () => {
    const accounts = await testAccounts({ environment: { APP_URL: "" } });
    const answers = [];
    for (const email of [ADA.email, "nobody@example.com"]) {
      const { status, headers } = await accounts.visitor().post("/change_password", { email });
      answers.push([status, headers.get("location")]);
    }
    expect(answers[0]).toEqual(answers[1]);
    const mails = await accounts.mails();
    expect(mails).toHaveLength(1);
    expect(linkIn(mails[0]).startsWith("http://localhost:3000/password_reset?token=")).toBe(true);
  });

  test("S47 the event contains the address that was typed, and the account if there is one", async () => {
    const accounts = await testAccounts();
    const mails: CapturedMail[] = [];
    for (const email of [ADA.email, "Nobody@example.com"]) {
      await accounts.visitor().post("/change_password", { email });
      // The jobs that two requests leave behind run in parallel.
      mails.push(...(await accounts.mails()));
    }
    const common = { time: expect.any(Date), address: "203.0.113.7", guard: "web" };
    expect(await accounts.toldOf("auth.password_reset_requested")).toEqual([
      { ...common, user: expect.objectContaining({ id: ADA.id }), email: ADA.email },
      { ...common, user: null, email: "nobody@example.com" },
    ]);
    const [, token] = linkIn(mails[0]).split("token=");
    expect(JSON.stringify(accounts.told)).not.toContain(token);
  });
});
