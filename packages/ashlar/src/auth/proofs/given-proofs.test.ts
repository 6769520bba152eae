import { afterEach, describe, expect, test } from "vitest";
import { ADA, AdminUser, BOB, FullUser, PASSWORD, testAccounts } from "../../../test/support/account-application.ts";
import { target } from "../../../test/support/login-steps.ts";
import { storeShop } from "../../../test/support/store-shop.ts";
import { declareFeature, type Feature, Provider } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { setClock } from "../../support/index.ts";
import { accessEpochOf, proofOf } from "../access/access-epoch.ts";
import { amrOf } from "./login-methods.ts";

const MINUTE = 60_000;
const JSON_ANSWER = { accept: "application/json" };
afterEach(() => setClock(null));

class SiteProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "site",
    proofs: { site: () => ({ amr: ["fed"], startsLogins: true, has: () => true }) },
  });
}

class OtpProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "otp",
    proofs: {
      otp: () => ({
        amr: ["otp"],
        page: "otp",
        has: ({ id }: { readonly id: number }) => id === ADA.id,
        step: {
          page: "otp",
          check: async ({ context, prove }) => {
            const given = context.request.bodyInput("otp");
            if (given === null) return "pending";
            return (await prove(() => given === "42")) ? "passed" : "pending";
          },
        },
      }),
    },
  });
}

describe("accounts.create() over an account store", () => {
  test("returns the user as stored, whose address is verified", async () => {
    const { accounts } = await storeShop({
      ACCOUNTS: { preventEnumeration: true },
      providers: [SiteProvider],
      routes: [
        Route.post("/site", async ({ accounts, auth }: HttpContext) => {
          const user = await accounts.create({ provedBy: "site", email: "cleo@example.com", name: "Cleo" });
          const result = await auth.enter(user!, { by: "site", firstLogin: true });
          return {
            verified: (user as never as { hasVerifiedEmail(): boolean }).hasVerifiedEmail(),
            status: result.status,
          };
        }),
      ],
    });
    expect((await accounts.visitor().post("/site", {}, JSON_ANSWER)).body).toEqual({
      verified: true,
      status: "complete",
    });
  });
});

describe("accounts.create() for an unfinished account", () => {
  const open = () => {
    const User = class User extends FullUser {};
    return testAccounts({
      User,
      ACCOUNTS: { preventEnumeration: true },
      providers: [SiteProvider],
      routes: [
        Route.post("/site", async ({ accounts, request }: HttpContext) => {
          const user = await accounts.create({ provedBy: "site", ...request.all() } as never);
          return { id: user === null ? null : (user as never as { id: number }).id };
        }),
      ],
    });
  };
  test("refuses a value that is taken, and keeps the account", async () => {
    const accounts = await open();
    await accounts.database.kysely.schema.createIndex("names").unique().on("users").column("name").execute();
    await accounts.database.kysely.updateTable("users").set({ name: "Bob" }).where("id", "=", BOB.id).execute();
    await accounts.database.kysely.updateTable("users").set({ name: "Ada" }).where("id", "=", ADA.id).execute();
    const fresh = await accounts.visitor().post("/site", { email: "cleo@example.com", name: "Bob" }, JSON_ANSWER);
    expect(fresh.status).toBe(422);
    const { status, body } = await accounts.visitor().post("/site", { email: ADA.email, name: "Bob" }, JSON_ANSWER);
    expect([status, body]).toEqual([422, expect.anything()]);
  });
});

test("S206 a login that waited during an upgrade, and that no proof completed, isn't confirmed", async () => {
  const accounts = await testAccounts({
    guards: { steps: [{ name: "terms", check: () => "passed" as const }] },
    routes: [
      Route.post("/old", async (context: HttpContext) => {
        const { model } = context.auth.webGuard as never as { model: typeof FullUser };
        const user = (await model.findByAuthId(ADA.id))! as never as FullUser;
        const waiting = {
          epoch: accessEpochOf(user as never),
          purpose: "login",
          step: "terms",
          page: null,
          passed: [],
          options: {},
        };
        await context.auth.registry.pendingLogins.keep(
          context,
          "web",
          waiting as never,
          proofOf(model as never, user as never),
          null,
        );
        return {};
      }),
      Route.post("/resume", async ({ auth }: HttpContext) => ({
        status: (await (await auth.pendingLogin())!.resume()).status,
      })),
      Route.get("/danger", async () => "danger").middleware("password.confirm:30"),
    ],
  });
  const visitor = accounts.visitor();
  await visitor.post("/old");
  expect((await visitor.post("/resume")).body).toEqual({ status: "complete" });
  expect(target(await visitor.get("/danger"))).toEqual([302, "/confirm_password"]);
});

describe("the times of proofs", () => {
  test("S206 a step that a confirmation doesn't ask for again isn't recorded as proved now", async () => {
    setClock(() => 1_900_000_000_000);
    const accounts = await testAccounts({
      providers: [OtpProvider],
      routes: [
        Route.get("/otp", () => "otp").name("otp"),
        Route.get("/how", async ({ auth }: HttpContext) =>
          (await auth.webGuard.methods()).map(({ by, at }) => [by, at.getTime()]),
        ),
        Route.post("/again", async ({ auth, request }: HttpContext) => ({
          done: await auth.webGuard.confirmPassword(request.bodyInput("password")),
        })),
      ],
    });
    const visitor = accounts.visitor();
    await visitor.post("/login", { email: ADA.email, password: PASSWORD, otp: "42" });
    expect((await visitor.post("/again", { password: PASSWORD, otp: "42" })).body).toEqual({ done: true });
    const before = Object.fromEntries((await visitor.get("/how")).body as never);
    setClock(() => 1_900_000_000_000 + 9 * MINUTE);
    expect((await visitor.post("/again", { password: PASSWORD })).body).toEqual({ done: true });
    const after = Object.fromEntries((await visitor.get("/how")).body as never);
    expect(after.otp).toBe(before.otp);
  });
  test("S206 a password proved before a step isn't recorded as proved when the step was passed", async () => {
    setClock(() => 1_900_000_000_000);
    const accounts = await testAccounts({
      providers: [OtpProvider],
      routes: [
        Route.get("/otp", () => "otp").name("otp"),
        Route.get("/how", async ({ auth }: HttpContext) =>
          (await auth.webGuard.methods()).map(({ by, at }) => [by, at.getTime()]),
        ),
        Route.post("/otp", async ({ auth }: HttpContext) => ({
          status: (await (await auth.pendingLogin())!.resume()).status,
        })),
      ],
    });
    const visitor = accounts.visitor();
    await visitor.post("/login", { email: ADA.email, password: PASSWORD });
    setClock(() => 1_900_000_000_000 + 9 * MINUTE);
    expect((await visitor.post("/otp", { otp: "42" })).body).toEqual({ status: "complete" });
    expect(Object.fromEntries((await visitor.get("/how")).body as never)).toEqual({
      password: 1_900_000_000_000,
      otp: 1_900_000_000_000 + 9 * MINUTE,
    });
  });
});

describe("what begins a login", () => {
  test("S206 two proofs of one factor aren't two factors", () => {
    expect(amrOf([{ amr: ["otp"] }, { amr: ["otp"] }])).toEqual(["otp"]);
    expect(amrOf([{ amr: ["fed"] }, { amr: ["otp", "user"] }])).toEqual(["fed", "otp", "user"]);
    expect(amrOf([{ amr: ["pwd"] }, { amr: ["otp"] }])).toEqual(["pwd", "otp", "mfa"]);
    expect(amrOf([{ amr: ["hwk", "fpt"] }])).toEqual(["hwk", "fpt", "mfa"]);
  });
  const open = () =>
    testAccounts({
      providers: [OtpProvider],
      routes: [
        Route.get("/otp", () => "otp").name("otp"),
        Route.post("/otp", async ({ auth }: HttpContext) => ({
          done: await auth.webGuard.confirm({ by: "otp" }),
        })).middleware("auth"),
        Route.get("/danger", () => "danger").middleware("password.confirm:30"),
        Route.post("/enter", async ({ auth }: HttpContext) => {
          const { model } = auth.webGuard as never as { model: typeof FullUser };
          const user = (await model.findByAuthId(ADA.id)) as never;
          return { status: (await auth.enter(user, { by: "otp" })).status };
        }),
        Route.post("/typo", async ({ auth }: HttpContext) => {
          const { model } = auth.webGuard as never as { model: typeof FullUser };
          const user = (await model.findByAuthId(BOB.id)) as never;
          return { status: (await auth.enter(user, { by: "passkye", amr: ["hwk"] })).status };
        }),
        Route.post("/login-all", async ({ auth, request }: HttpContext) => {
          const { email, password, ...options } = request.all() as never as { email: string; password: string };
          await auth.login(email, password, options);
          return { methods: await auth.webGuard.methods() };
        }),
      ],
    });
  test("S206 a proof that is only a further step confirms nothing alone", async () => {
    setClock(() => 1_900_000_000_000);
    const accounts = await open();
    const visitor = accounts.visitor();
    await visitor.post("/login", { email: ADA.email, password: PASSWORD, otp: "42" });
    setClock(() => 1_900_000_000_000 + 31 * MINUTE);
    await visitor.post("/otp");
    expect((await visitor.get("/danger")).status).toBe(302);
  });
  test("S206 a proof that is only a further step begins no login", async () => {
    const accounts = await open();
    expect((await accounts.visitor().post("/enter", {}, JSON_ANSWER)).body).not.toEqual({ status: "complete" });
  });
  test("an undeclared name is refused even with amr", async () => {
    const accounts = await open();
    expect((await accounts.visitor().post("/typo", {}, JSON_ANSWER)).body).toMatchObject({
      code: "E_INVALID_CONFIGURATION",
    });
  });
  test("a password login's options can't set the satisfied factors", async () => {
    const accounts = await open();
    const { body } = await accounts
      .visitor()
      .post("/login-all", { email: BOB.email, password: PASSWORD, amr: ["hwk", "mfa"] }, JSON_ANSWER);
    expect(body).toMatchObject({ methods: [{ by: "password", amr: ["pwd"] }] });
  });
});

test("S69 a proof of one guard's user isn't required of another guard's user with the same key", async () => {
  const Admin = class Admin extends AdminUser {};
  const User = class User extends FullUser {};
  const asked: string[] = [];
  const has = (user: object) => asked.push(user.constructor.name) > 0;
  class CardProvider extends Provider {
    static override readonly feature: Feature = declareFeature({
      name: "card",
      proofs: { card: () => ({ amr: ["sc"], users: User, has, step: { check: () => "pending" } }) },
    });
  }
  const accounts = await testAccounts({
    User,
    models: [Admin],
    providers: [CardProvider],
    guards: { admin: { driver: "web", model: Admin } },
    routes: [
      Route.post("/admin/enter", async ({ auth }: HttpContext) => {
        const admin = (await Admin.rows().get())[0]!;
        return { status: (await auth.guard("admin").enter(admin as never, { by: "password" })).status };
      }),
    ],
  });
  expect((await accounts.visitor().post("/admin/enter")).body).toEqual({ status: "complete" });
  expect(asked).toEqual([]);
  const { body } = await accounts.visitor().post("/login", { email: ADA.email, password: PASSWORD }, JSON_ANSWER);
  expect([body, asked]).toMatchObject([{ data: { status: "pending", step: "card" } }, ["User"]]);
});
