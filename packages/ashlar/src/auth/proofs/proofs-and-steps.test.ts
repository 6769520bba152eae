import { afterEach, expect, test } from "vitest";
import { ADA, type FullUser, PASSWORD, testAccounts } from "../../../test/support/account-application.ts";
import { storeShop } from "../../../test/support/store-shop.ts";
import { declareFeature, type Feature, Provider, type ProviderClass } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { setClock } from "../../support/index.ts";
import { createTestClient } from "../../testing/index.ts";
import type { LoginStep } from "./login-step.ts";

const MINUTE = 60_000;
const T0 = 1_900_000_000_000;
const JSON_ANSWER = { accept: "application/json" };
const NEW = "staple battery horse correct";
afterEach(() => setClock(null));

test("S206 a mailed link and a mailed code don't let the documented step for a second factor pass", async () => {
  class LinkProvider extends Provider {
    static override readonly feature: Feature = declareFeature({
      name: "link",
      proofs: { link: () => ({ amr: ["otp"], startsLogins: true, has: () => true }) },
    });
  }
  const mailed: LoginStep = {
    name: "mailed_code",
    amr: ["otp"],
    check: async ({ context, prove }) =>
      (await prove(() => context.request.bodyInput("mailed") === "1")) ? "passed" : "pending",
  };
  const totp: LoginStep = {
    name: "totp",
    amr: ["otp"],
    check: ({ amr }) => (amr.includes("mfa") ? "passed" : "pending"),
  };
  const accounts = await testAccounts({
    providers: [LinkProvider],
    guards: { steps: [mailed, totp] },
    routes: [
      Route.post("/link", async ({ auth }: HttpContext) => {
        const { model } = auth.webGuard as never as { model: typeof FullUser };
        const { status } = await auth.enter((await model.findByAuthId(ADA.id)) as never, { by: "link" });
        return { status };
      }),
    ],
  });
  expect((await accounts.visitor().post("/link", { mailed: "1" })).body).toEqual({ status: "pending" });
});

function otpProvider(has: (user: { id: number }) => boolean, users?: object): ProviderClass {
  return class OtpProvider extends Provider {
    static override readonly feature: Feature = declareFeature({
      name: "otp",
      proofs: {
        otp: () => ({
          amr: ["otp"],
          page: "otp",
          has,
          ...(users && { users }),
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
  };
}

test("a second factor that was passed once in a confirmation is asked for again after ten minutes, whatever happened in between", async () => {
  setClock(() => T0);
  let mustAccept = false;
  const terms: LoginStep = {
    name: "terms",
    page: "terms",
    check: ({ context }) => (mustAccept && context.request.bodyInput("accept") === null ? "pending" : "passed"),
  };
  const accounts = await testAccounts({
    providers: [otpProvider(({ id }) => id === ADA.id)],
    guards: { steps: [terms] },
    routes: [
      Route.get("/otp", () => "otp").name("otp"),
      Route.get("/terms", () => "").name("terms"),
      Route.post("/terms", async ({ auth }: HttpContext) => ({
        status: (await (await auth.pendingLogin())!.resume()).status,
      })),
      Route.post("/again", async ({ auth, request }: HttpContext) => ({
        done: await auth.webGuard.confirmPassword(request.bodyInput("password")),
      })),
    ],
  });
  const visitor = accounts.visitor();
  await visitor.post("/login", { email: ADA.email, password: PASSWORD, otp: "42" });
  expect((await visitor.post("/again", { password: PASSWORD, otp: "42" })).body).toEqual({ done: true });
  setClock(() => T0 + 9 * MINUTE);
  mustAccept = true;
  expect((await visitor.post("/again", { password: PASSWORD })).body).toEqual({ done: false });
  setClock(() => T0 + 18 * MINUTE);
  expect((await visitor.post("/terms", { accept: 1 })).body).toEqual({ status: "complete" });
  setClock(() => T0 + 27 * MINUTE);
  expect((await visitor.post("/again", { password: PASSWORD })).body).toEqual({ done: false });
});

test("S206 a has() that throws lets no one in", async () => {
  const accounts = await testAccounts({
    providers: [
      otpProvider(() => {
        throw new Error("down");
      }),
    ],
    routes: [Route.get("/otp", () => "otp").name("otp")],
  });
  const visitor = accounts.visitor();
  expect((await visitor.post("/login", { email: ADA.email, password: PASSWORD })).status).toBe(500);
  expect(await accounts.rows("logins")).toEqual([]);
});

test("S206 resuming one pending login ten times at once starts one login", async () => {
  const accounts = await testAccounts({
    providers: [otpProvider(({ id }) => id === ADA.id)],
    routes: [
      Route.get("/otp", () => "otp").name("otp"),
      Route.post("/otp", async ({ auth }: HttpContext) => {
        const p = await auth.pendingLogin();
        return { status: p === null ? null : (await p.resume()).status };
      }),
    ],
  });
  const visitor = accounts.visitor();
  await visitor.post("/login", { email: ADA.email, password: PASSWORD });
  const all = await Promise.all(Array.from({ length: 10 }, () => visitor.post("/otp", { otp: "42" })));
  expect(all.map(({ body }) => (body as { status: string }).status).filter((s) => s === "complete")).toHaveLength(1);
  expect(await accounts.rows("logins")).toHaveLength(1);
});

test("S206 a replaced token doesn't carry over a passwordless user's confirmation", async () => {
  setClock(() => T0);
  class SiteProvider extends Provider {
    static override readonly feature: Feature = declareFeature({
      name: "site",
      proofs: { site: () => ({ amr: ["fed"], startsLogins: true, page: "site", has: () => true }) },
    });
  }
  const accounts = await testAccounts({
    providers: [SiteProvider],
    routes: [
      Route.get("/site", () => "").name("site"),
      Route.post("/site", async ({ auth }: HttpContext) => ({ done: await auth.webGuard.confirm({ by: "site" }) })),
      Route.post("/enter", async ({ auth }: HttpContext) => {
        const { model } = auth.webGuard as never as { model: typeof FullUser };
        return { status: (await auth.enter((await model.findByAuthId(ADA.id)) as never, { by: "site" })).status };
      }),
    ],
  });
  await accounts.database.kysely.updateTable("users").set({ password: "" }).where("id", "=", ADA.id).execute();
  const visitor = accounts.visitor();
  await visitor.post("/enter");
  const thief = accounts.visitor();
  for (const [name, value] of visitor.cookies) thief.cookies.set(name, value);
  await visitor.post("/site");
  const form = {
    current_password: "",
    password: "staple battery horse correct",
    password_confirmation: "staple battery horse correct",
  };
  const { status, headers } = await thief.post("/account/password", form);
  expect([status, headers.get("location")]).toEqual([303, "/site"]);
  expect((await accounts.rows("users"))[0]!.password).toBe("");
});

function site(ended: string[] = [], mine: (id: number) => boolean = () => true): ProviderClass {
  return class SiteProvider extends Provider {
    static override readonly feature: Feature = declareFeature({
      name: "site",
      proofs: {
        site: () => ({
          amr: ["fed"],
          startsLogins: true,
          page: "site",
          has: ({ id }: { readonly id: number }) => mine(id),
          endAccess: (user) => void ended.push(String(user.authId())),
        }),
      },
    });
  };
}
const routes = [
  Route.get("/site", () => "").name("site"),
  Route.post("/site", async ({ auth }: HttpContext) => ({
    done: await auth.webGuard.confirm({ by: "site" }),
    refusal: auth.refusal,
  })),
  Route.post("/enter", async ({ auth }: HttpContext) => {
    const { model } = auth.webGuard as never as { model: typeof FullUser };
    return { status: (await auth.enter((await model.findByAuthId(ADA.id)) as never, { by: "site" })).status };
  }),
];

test("S206 a step that refuses confirmations refuses users without a password, too", async () => {
  let suspended = false;
  const step: LoginStep = { name: "suspended", check: () => (suspended ? { failed: "Suspended." } : "passed") };
  const accounts = await testAccounts({ providers: [site()], guards: { steps: [step] }, routes });
  const form = { current_password: PASSWORD, password: NEW, password_confirmation: NEW };
  const other = await accounts.loggedIn();
  const visitor = accounts.visitor();
  suspended = true;
  expect((await other.post("/account/password", form, JSON_ANSWER)).status).toBe(422);
  suspended = false;
  await accounts.database.kysely.updateTable("users").set({ password: "" }).where("id", "=", ADA.id).execute();
  await visitor.post("/enter");
  suspended = true;
  expect((await visitor.post("/site", {}, JSON_ANSWER)).body).toMatchObject({ done: false });
  expect((await visitor.post("/account/password", form, JSON_ANSWER)).status).toBe(422);
  expect((await accounts.rows("users"))[0]!.password).toBe("");
});

test("S64 if two applications have hand-written users, the end of access in one reaches that one's features", async () => {
  const [one, two]: [string[], string[]] = [[], []];
  const first = await storeShop({ providers: [site(one)] });
  await storeShop({ providers: [site(two)] });
  const cleo = await first.cleo();
  const done = await cleo.post(
    "/account/password",
    { current_password: PASSWORD, password: NEW, password_confirmation: NEW },
    JSON_ANSWER,
  );
  expect(done.status).toBe(200);
  expect([one.length, two.length]).toEqual([1, 0]);
});

test("a proof's step without its page fails startup, naming the guards whose users need it", async () => {
  const make = (name: string, users?: object) =>
    testAccounts({
      providers: [otpProvider(() => true, users)],
      routes: [Route.get("/code", () => "").name(name)],
    });
  const problem =
    'routes of the guard "web": the step of the proof "otp" leads to the route "otp", which does not exist.';
  await expect(make("opt")).rejects.toThrow(`${problem} Did you mean "opt"? Add the feature's routes to ROUTES`);
  await expect(make("otp")).resolves.toBeDefined();
  await expect(make("opt", class Other {})).resolves.toBeDefined();
});

test("a step's page shows why a login waits: as a status, or as a problem after an invalid proof", async () => {
  const code: LoginStep = {
    name: "code",
    page: "code",
    check: async ({ context, prove }) => {
      const given = context.request.bodyInput("code");
      if (given === null) return { pending: "We have sent you a code." };
      return (await prove(() => given === "42")) ? "passed" : { pending: "This code is wrong." };
    },
  };
  const accounts = await testAccounts({
    guards: { steps: [code] },
    routes: [
      Route.get("/code", ({ session }: HttpContext) => {
        return {
          status: session.flashed("status"),
          problems: session.errors()[""]?.map(({ message }) => message) ?? null,
        };
      }).name("code"),
    ],
  });
  const visitor = accounts.visitor();
  const enter = async (inputs: object = {}) => {
    const { status, headers } = await visitor.post("/login", { email: ADA.email, password: PASSWORD, ...inputs });
    return [status, headers.get("location"), (await visitor.get("/code")).body];
  };
  expect(await enter()).toEqual([302, "/code", { status: "We have sent you a code.", problems: null }]);
  expect(await enter({ code: "1" })).toEqual([302, "/code", { status: null, problems: ["This code is wrong."] }]);
});

test("tests log in a user who has a second step without asking for it", async () => {
  const asked: number[] = [];
  const terms: LoginStep = {
    name: "terms",
    check: ({ user }) => {
      asked.push((user as { id: number }).id);
      return "pending";
    },
  };
  const accounts = await testAccounts({
    providers: [otpProvider(() => true)],
    guards: { steps: [terms] },
    routes: [Route.get("/otp", () => "code").name("otp")],
  });
  const [user, client] = [await accounts.user(), createTestClient(accounts.application)];
  for (const options of [{}, { by: "password" }]) {
    await client.asGuest().actingAs(user as never, options);
    // Without a login, the user would only be put into each request.
    expect(client.cookies.find("__Host-token")).toMatchObject({ path: "/", httpOnly: true });
    await client.assertAuthenticatedAs(user as never);
  }
  expect(asked).toEqual([]);
  // The application itself still asks for the step.
  const { body } = await accounts.visitor().post("/login", { email: ADA.email, password: PASSWORD }, JSON_ANSWER);
  expect([body, asked]).toEqual([{ data: { status: "pending", step: "terms", flows: [{ id: "terms" }] } }, [ADA.id]]);
});
