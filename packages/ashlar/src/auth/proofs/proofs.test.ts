import { afterEach, describe, expect, test } from "vitest";
import {
  ADA,
  BOB,
  NEW_PASSWORD,
  PASSWORD,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
} from "../../../test/support/account-application.ts";
import { declareFeature, type Feature, Provider, type ProviderClass } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError, setClock } from "../../support/index.ts";
import { asAuthenticatable } from "../users/authenticatable.ts";

const MINUTE = 60_000;
const JSON_ANSWER = { accept: "application/json" };

afterEach(() => setClock(null));

/** The users with a badge, by primary key, and the calls made for them. */
interface Desk {
  readonly badges: Set<number>;
  readonly ended: string[];
  readonly provider: ProviderClass;
}

/** A feature whose users have badges. */
function badges(name = "badge", step = false): Desk {
  const own = new Set<number>();
  const ended: string[] = [];
  class BadgeProvider extends Provider {
    static override readonly feature: Feature = declareFeature({
      name: `feature-${name}`,
      proofs: {
        [name]: () => ({
          amr: ["sc"],
          startsLogins: true,
          page: name,
          has: ({ id }: { readonly id: number }) => own.has(id),
          endAccess: (user) => void ended.push(`${name} ${user.authId()}`),
          ...(step && {
            step: {
              check: async ({ context, prove }) => {
                const given = context.request.bodyInput("badge_code");
                if (given === null) return { pending: "Show your badge." };
                return (await prove(() => given === "42")) ? "passed" : { pending: "That is not your badge." };
              },
            },
          }),
        }),
      },
    });
  }
  return { badges: own, ended, provider: BadgeProvider };
}

const withBadges = (desks: readonly Desk[], options: TestAccountsOptions = {}): Promise<TestAccounts> => {
  return testAccounts({
    ...options,
    providers: desks.map(({ provider }) => provider),
    routes: [
      Route.post("/badge/enter", async (context: HttpContext) => {
        const { auth, request } = context;
        const user = await FIND(context, request.bodyInput("id"));
        const result =
          user === null
            ? await auth.webGuard.fail({ by: "badge" })
            : await auth.enter(user as never, {
                by: "badge",
                ...(request.bodyInput("twice") !== null && { amr: ["sc", "mfa"] }),
              });
        return { ...result, user: undefined };
      }),
      Route.get("/badge", () => "Show your badge").name("badge"),
      Route.post("/badge", async ({ auth }: HttpContext) => ({
        done: await auth.webGuard.confirm({ by: "badge" }),
      })).middleware("auth"),
      Route.get("/ways", async ({ accounts, request }: HttpContext) => accounts.methodsOf(request.user()!)).middleware(
        "auth",
      ),
      Route.get("/how", async ({ auth }: HttpContext) => ({
        methods: await auth.webGuard.methods(),
        logins: (await auth.logins().list()).map(({ by }) => by),
      })).middleware("auth"),
      Route.get("/danger", () => "danger").middleware("password.confirm:30"),
      Route.post("/others", async ({ auth, request }: HttpContext) => ({
        done: await auth.webGuard.logoutOtherDevices(request.bodyInput("password")),
      })).middleware("auth"),
      ...(options.routes ?? []),
    ],
  });
};

const FIND = async ({ auth }: HttpContext, id: unknown) => {
  const { model } = auth.webGuard as unknown as { model: { findByAuthId(id: number): Promise<object | null> } };
  return model.findByAuthId(Number(id));
};

/** Removes a user's password. */
async function withoutPassword(accounts: TestAccounts, id: number): Promise<void> {
  await accounts.database.kysely.updateTable("users").set({ password: "" }).where("id", "=", id).execute();
}

describe("a login by another proof", () => {
  test("is complete, says which proof was used, and counts as confirmed", async () => {
    const desk = badges();
    const accounts = await withBadges([desk]);
    const visitor = accounts.visitor();
    expect((await visitor.post("/badge/enter", { id: ADA.id })).body).toMatchObject({ status: "complete" });
    expect((await visitor.get("/how")).body).toEqual({
      methods: [{ by: "badge", at: expect.any(String), amr: ["sc"] }],
      logins: [["badge"]],
    });
    expect((await visitor.get("/danger")).body).toBe("danger");
    expect(await accounts.toldOf("auth.login")).toMatchObject([{ by: ["badge"] }]);
  });

  test("that failed is announced, and reveals no more than a wrong password does", async () => {
    const accounts = await withBadges([badges()]);
    expect((await accounts.visitor().post("/badge/enter", { id: 4711 })).body).toMatchObject({
      status: "failed",
      step: null,
      message: { rule: "auth.login.failed" },
    });
    expect(await accounts.toldOf("auth.failed")).toMatchObject([{ by: "badge", user: null, identifier: null }]);
  });

  test("S206 to a blocked account is refused", async () => {
    const accounts = await withBadges([badges()]);
    await accounts.database.kysely.schema.alterTable("users").addColumn("blocked_at", "text").execute();
    await accounts.database.kysely
      .updateTable("users")
      .set({ blocked_at: new Date() })
      .where("id", "=", ADA.id)
      .execute();
    expect((await accounts.visitor().post("/badge/enter", { id: ADA.id })).body).toMatchObject({
      status: "failed",
      step: "blocked",
    });
  });

  test("S206 starts nothing if access to the account has ended since the user was read", async () => {
    const accounts = await withBadges([badges()], {
      routes: [
        Route.post("/late", async (context: HttpContext) => {
          const user = await FIND(context, ADA.id);
          await ((await FIND(context, ADA.id)) as { endAccess(): Promise<boolean> }).endAccess();
          return { status: (await context.auth.enter(user as never, { by: "badge" })).status };
        }),
      ],
    });
    const visitor = accounts.visitor();
    expect((await visitor.post("/late")).body).toEqual({ status: "failed" });
    expect((await visitor.get("/how", JSON_ANSWER)).status).toBe(401);
  });

  test("S206 to an account whose address isn't verified yet is refused if a password login would be", async () => {
    const accounts = await withBadges([badges()], { ACCOUNTS: { preventEnumeration: true } });
    const enter = async () =>
      ((await accounts.visitor().post("/badge/enter", { id: ADA.id })).body as { status: string }).status;
    expect(await enter()).toBe("failed");
    await accounts.database.kysely
      .updateTable("users")
      .set({ verified_at: new Date() })
      .where("id", "=", ADA.id)
      .execute();
    expect(await enter()).toBe("complete");
  });

  test("requires the name of a declared proof", async () => {
    const accounts = await withBadges([badges("card")]);
    expect((await accounts.visitor().post("/badge/enter", { id: ADA.id }, JSON_ANSWER)).body).toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      detail: expect.stringContaining('no proof is named "badge".'),
    });
  });
});

describe("a proof's own step", () => {
  test("S206 is required of users who have the proof, and says why the login waits", async () => {
    const desk = badges("badge", true);
    const accounts = await withBadges([desk]);
    const login = (inputs: object = {}) =>
      accounts.visitor().post("/login", { email: ADA.email, password: PASSWORD, ...inputs }, JSON_ANSWER);
    expect((await login()).body).toMatchObject({ data: { status: "complete" } });
    desk.badges.add(ADA.id);
    expect((await login()).body).toEqual({
      data: { status: "pending", step: "badge", message: "Show your badge.", flows: [{ id: "badge" }] },
    });
    expect((await login({ badge_code: "1" })).body).toMatchObject({ data: { message: "That is not your badge." } });
    const { body } = await login({ badge_code: "42" });
    expect(body).toMatchObject({ data: { status: "complete" } });
    expect(await accounts.toldOf("auth.login")).toMatchObject([{ by: ["password"] }, { by: ["password", "badge"] }]);
  });

  test("isn't required if the login began with the proof", async () => {
    const desk = badges("badge", true);
    desk.badges.add(ADA.id);
    const accounts = await withBadges([desk]);
    expect((await accounts.visitor().post("/badge/enter", { id: ADA.id })).body).toMatchObject({ status: "complete" });
  });
});

describe("a user without a password", () => {
  const open = async () => {
    const desk = badges();
    desk.badges.add(ADA.id);
    const accounts = await withBadges([desk]);
    await withoutPassword(accounts, ADA.id);
    setClock(() => 1_900_000_000_000);
    const visitor = accounts.visitor();
    await visitor.post("/badge/enter", { id: ADA.id });
    return { accounts, visitor };
  };

  test("is sent to another proof's page, and API clients get its name", async () => {
    const { visitor } = await open();
    setClock(() => 1_900_000_000_000 + 31 * MINUTE);
    const page = await visitor.get("/danger");
    expect([page.status, page.headers.get("location")]).toEqual([302, "/badge"]);
    expect((await visitor.get("/danger", JSON_ANSWER)).body).toMatchObject({
      code: "E_PASSWORD_NOT_CONFIRMED",
      methods: ["badge"],
      detail: "Confirm that it's you to continue.",
    });
    expect((await visitor.post("/badge")).body).toEqual({ done: true });
    expect((await visitor.get("/danger")).body).toBe("danger");
    expect((await visitor.get("/how")).body).toMatchObject({ logins: [["badge"]] });
  });

  test("confirms the same login, and its token is replaced", async () => {
    const { accounts, visitor } = await open();
    const [before] = await accounts.rows("logins");
    await visitor.post("/badge");
    const [after, ...others] = await accounts.rows("logins");
    expect([after!.id, others]).toEqual([before!.id, []]);
    expect(after!.token_hash).not.toBe(before!.token_hash);
  });

  test("S206 sets a first password, and ends other logins, right after another proof, and otherwise has to give one first", async () => {
    const { accounts, visitor } = await open();
    const form = { current_password: "", password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    setClock(() => 1_900_000_000_000 + 11 * MINUTE);
    const late = await visitor.post("/account/password", form);
    expect([late.status, late.headers.get("location")]).toEqual([303, "/badge"]);
    expect((await visitor.post("/others", {}, JSON_ANSWER)).body).toMatchObject({ methods: ["badge"] });
    expect(await accounts.toldOf("auth.failed")).toEqual([]);
    await visitor.post("/badge");
    expect((await visitor.post("/others")).body).toEqual({ done: true });
    const done = await visitor.post("/account/password", form, JSON_ANSWER);
    expect(done.status).toBe(200);
    expect(await (await accounts.user()).verifyPassword(NEW_PASSWORD)).toBe(true);
  });

  test("a user without another proof learns that, not that a password was wrong", async () => {
    const accounts = await withBadges([]);
    setClock(() => 1_900_000_000_000);
    const visitor = await accounts.loggedIn();
    await withoutPassword(accounts, ADA.id);
    setClock(() => 1_900_000_000_000 + 11 * MINUTE);
    const { body } = await visitor.post("/account/email", { email: "new@example.com", password: "x" }, JSON_ANSWER);
    expect(JSON.stringify(body)).toContain("doesn't have a password");
  });
});

describe("the proofs that features declare", () => {
  test("can't share names with other features' proofs, or with steps", async () => {
    await expect(withBadges([badges(), badges()])).rejects.toThrow(
      'the proof "badge" is already declared by BadgeProvider.',
    );
    await expect(withBadges([badges("password")])).rejects.toThrow(
      'the proof "password" is already declared by AuthProvider.',
    );
    const steps = [{ name: "badge", check: () => "passed" as const }];
    await expect(withBadges([badges()], { guards: { steps } })).rejects.toThrow(
      'a step is named "badge", like the proof of a feature.',
    );
  });

  test("are each notified once that access has ended, in the order of declaration", async () => {
    const [one, other] = [badges("badge"), badges("card")];
    const accounts = await withBadges([one, other]);
    const user = await accounts.user();
    await user.endAccess();
    expect([one.ended, other.ended]).toEqual([["badge 1"], ["card 1"]]);
    const visitor = await accounts.loggedIn(BOB);
    const form = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await visitor.post("/account/password", form);
    expect([one.ended, other.ended]).toEqual([
      ["badge 1", "badge 2"],
      ["card 1", "card 2"],
    ]);
  });
});

test("accounts.methodsOf() lists a user's methods, the password first", async () => {
  const desk = badges();
  desk.badges.add(ADA.id);
  const accounts = await withBadges([desk]);
  const visitor = await accounts.loggedIn();
  const badge = { name: "badge", amr: ["sc"], startsLogins: true, url: "/badge", label: null };
  const password = { name: "password", amr: ["pwd"], startsLogins: true, url: "/confirm_password", label: null };
  expect((await visitor.get("/ways")).body).toEqual([password, badge]);
  await withoutPassword(accounts, ADA.id);
  const other = accounts.visitor();
  await other.post("/badge/enter", { id: ADA.id });
  expect((await other.get("/ways")).body).toEqual([badge]);
});

test("a user without a password gets past the password forms by another proof", async () => {
  const desk = badges();
  desk.badges.add(ADA.id);
  const first = Route.get("/first", async ({ accounts }) => ({ by: await accounts.firstPassword() })).middleware(
    "auth",
  );
  const accounts = await withBadges([desk], { routes: [first] });
  await withoutPassword(accounts, ADA.id);
  const visitor = accounts.visitor();
  await visitor.post("/badge/enter", { id: ADA.id });
  expect((await visitor.get("/first")).body).toEqual({ by: "proof" });
  desk.badges.delete(ADA.id);
  expect((await visitor.get("/first")).body).toEqual({ by: "mail" });
});

test("accounts.removeMethod() undoes the removal of the last way to log in, and passes errors on", async () => {
  const desk = badges();
  desk.badges.add(ADA.id);
  const remove = Route.post("/remove", async ({ accounts, request }: HttpContext) => {
    const { database } = context;
    const work = async () => {
      if (request.bodyInput("fails") !== null) throw new AshlarError("E_FORBIDDEN");
      await database.kysely.updateTable("users").set({ name: "Removed" }).where("id", "=", ADA.id).execute();
      desk.badges.delete(ADA.id);
    };
    return { isRemoved: await accounts.removeMethod(request.user()!, work) };
  }).middleware("auth");
  const accounts: TestAccounts = await withBadges([desk], { routes: [remove] });
  const context = { database: accounts.database };
  const visitor = await accounts.loggedIn();
  expect((await visitor.post("/remove", { fails: "1" })).status).toBe(403);
  expect((await visitor.post("/remove")).body).toEqual({ isRemoved: true });
  expect((await accounts.user()).name).toBe("Removed");
  await accounts.database.kysely.updateTable("users").set({ name: "Ada" }).execute();
  desk.badges.add(ADA.id);
  await withoutPassword(accounts, ADA.id);
  const other = accounts.visitor();
  await other.post("/badge/enter", { id: ADA.id });
  expect((await other.post("/remove")).body).toEqual({ isRemoved: false });
  expect((await accounts.user()).name).toBe("Ada");
});

test("a feature that doesn't know the users' class finds them by the guard, and reads their keys", async () => {
  const accounts = await withBadges([]);
  const guards = accounts.application.container.make("auth");
  const ada = await guards.usersOf("web").findByAuthId(ADA.id);
  expect(asAuthenticatable(ada!).authId()).toBe(ADA.id);
  expect(() => guards.usersOf("wep")).toThrow('Did you mean "web"?');
  expect(() => asAuthenticatable(new Date())).toThrow("Date is not a class of users");
});

test("a logins table without the column `methods` works, and records no methods", async () => {
  const before = await testAccounts();
  await before.database.kysely.schema.alterTable("logins").dropColumn("methods").execute();
  const accounts = await withBadges([badges()], { restarted: before });
  const visitor = await accounts.loggedIn();
  expect((await visitor.get("/how")).body).toEqual({ methods: [], logins: [[]] });
  expect((await visitor.get("/danger")).body).toBe("danger");
  expect((await visitor.post("/badge")).body).toEqual({ done: true });
  expect((await visitor.post("/others", { password: PASSWORD })).body).toEqual({ done: true });
});
