import { expect, onTestFinished, test } from "vitest";
import { ADA, AdminUser, BOB, FullUser, PASSWORD, testAccounts } from "../../../../test/support/account-application.ts";
import { kernelWith } from "../../../../test/support/application-parts.ts";
import { PeopleProvider, Person } from "../../../../test/support/people.ts";
import { createApplication } from "../../../boot/index.ts";
import { Route, type RouteEntry } from "../../../routing/index.ts";
import {
  accountDigest,
  type LockoutEvent,
  ThrottleMiddleware,
  ThrottleProvider,
  type ThrottleStore,
} from "../../../throttle/index.ts";
import { AuthProvider } from "../../auth-provider.ts";
import type { LoginGuard } from "../../guards/login-guard.ts";
import type { LoginStep } from "../../proofs/login-step.ts";
import { GuardMiddleware } from "../../requests/authentication-middleware.ts";

const by = (...keys: string[]) => ({ buckets: [{ by: keys, attempts: 1, windowSeconds: 60 }] });
const WIDE = { buckets: [{ by: ["address"], attempts: 1000, windowSeconds: 60 }] };
const RESET = { password: "another password of hers", password_confirmation: "not the same one" };

/** An application with a second guard, whose reset links are sent by its own route. */
async function application(throttle: object, routes: readonly RouteEntry[] = []) {
  class Admin extends AdminUser {}
  const accounts = await testAccounts({
    guards: { admin: { driver: "web", model: Admin } },
    models: [Admin],
    routes: [
      ...routes,
      Route.post("/admin/forgotten", async ({ accounts: own, auth }) => {
        auth.guard("admin");
        await own.requestPasswordReset(ADA.email);
        return "";
      }),
    ],
    throttle: { login: WIDE, change_password: WIDE, "password_reset.show": WIDE, ...throttle },
  });
  const lockouts: unknown[] = [];
  const events = accounts.application.container.make("events");
  events.on("auth.lockout", ({ limit, account }: LockoutEvent) => lockouts.push([limit, account]));
  const post = async (path: string, body: object, ip = "203.0.113.7") => {
    const { status } = await accounts.visitor({ ip }).post(path, body);
    await events.settled();
    return status === 429;
  };
  return { accounts, lockouts, post };
}

test("S33 a genuine reset token is counted separately from any address, and a made-up one by address", async () => {
  const { accounts, lockouts, post } = await application({
    password_reset: { account: "token", ...by("account", "address") },
  });
  const token = await accounts.resetToken(ADA);
  const bobs = await accounts.resetToken(BOB);
  const reset = (one: string, ip: string) => post("/password_reset", { ...RESET, token: one }, ip);
  expect([await reset(token, "203.0.113.1"), await reset(token, "203.0.113.2")]).toEqual([false, true]);
  // Another token does not count as this one, even from the same address.
  expect([await reset(bobs, "203.0.113.2"), await reset(bobs, "203.0.113.2")]).toEqual([false, true]);
  expect(lockouts).toEqual([
    ["password_reset", accountDigest("\0key 1")],
    ["password_reset", accountDigest("\0key 2")],
  ]);
});

test("S33 made-up reset tokens are counted by the address they come from, and not by account", async () => {
  const { lockouts, post } = await application({ password_reset: { account: "token", ...by("address") } });
  const reset = (token: string, ip: string) => post("/password_reset", { ...RESET, token }, ip);
  expect([await reset("made up", "203.0.113.1"), await reset("another", "203.0.113.1")]).toEqual([false, true]);
  expect(await reset("a third", "203.0.113.2")).toBe(false);
  expect(lockouts).toEqual([["password_reset", null]]);
});

test("S69 a reset token counts for the account of the guard that it was created for, whichever page it is sent to", async () => {
  const { accounts, post } = await application({ password_reset: { account: "token", ...by("account") } });
  const own = await accounts.resetToken(ADA);
  await accounts.visitor().post("/admin/forgotten");
  const [mail] = await accounts.mails();
  const token = /token=([\w.-]+)/.exec(mail!.text)![1]!;
  expect([
    await post("/password_reset", { ...RESET, token: own }),
    await post("/password_reset", { ...RESET, token }),
  ]).toEqual([false, false]);
});

test("S33 the page behind a reset link is counted by the account that the link is for", async () => {
  const { accounts } = await application({ "password_reset.show": { account: "token", ...by("account") } });
  const statuses: number[] = [];
  for (const user of [ADA, ADA, BOB]) {
    const path = `/password_reset?token=${await accounts.resetToken(user)}`;
    statuses.push((await accounts.visitor().get(path)).status);
  }
  expect(statuses).toEqual([200, 429, 200]);
});

test("S47 a lockout names the account of a request without a body, even if its address is over the limit", async () => {
  const lookup = Route.get("/lookup", () => "found").middleware("throttle:login");
  const { accounts, lockouts } = await application({ login: { account: "email", ...by("address") } }, [lookup]);
  const statuses: number[] = [];
  for (const { email } of [BOB, ADA]) statuses.push((await accounts.visitor().get(`/lookup?email=${email}`)).status);
  await accounts.application.container.make("events").settled();
  expect([statuses, lockouts]).toEqual([[200, 429], [["login", accountDigest(ADA.email)]]]);
});

test("S33 an address is counted in its normal form", async () => {
  const { post } = await application({ login: { account: "email", ...by("account") } });
  expect(await post("/login", { email: "  ADA@Example.com ", password: "wrong" })).toBe(false);
  expect(await post("/login", { email: ADA.email, password: "wrong" })).toBe(true);
  expect(await post("/login", { email: BOB.email, password: "wrong" })).toBe(false);
});

test("S33 a user who is logged in is counted like a form that names the account by its address", async () => {
  const count = Route.post("/count", async (context) => {
    await context.auth.throttle!.hit(context, "login", { user: await context.auth.user() });
    return {};
  });
  const accounts = await testAccounts({ routes: [count], throttle: { login: { account: "email", ...by("account") } } });
  expect((await (await accounts.loggedIn(ADA)).post("/count")).status).toBe(200);
  const statuses: number[] = [];
  for (const { email } of [ADA, BOB]) {
    statuses.push((await accounts.visitor().post("/login", { email, password: "wrong" })).status);
  }
  expect(statuses).toEqual([429, 303]);
});

test("S33 a device that an account was used on has its own attempts at that account, and at no other", async () => {
  const { accounts } = await application({ login: { account: "email", ...by("account", "address") } });
  const owner = await accounts.loggedIn(ADA);
  owner.cookies.delete("token");
  const stranger = accounts.visitor();
  const isRefused = async (visitor: typeof owner, { email }: { readonly email: string }) => {
    return (await visitor.post("/login", { email, password: "wrong" })).status === 429;
  };
  expect([await isRefused(stranger, ADA), await isRefused(stranger, ADA)]).toEqual([false, true]);
  expect([await isRefused(owner, ADA), await isRefused(owner, ADA)]).toEqual([false, true]);
  expect([await isRefused(stranger, BOB), await isRefused(owner, BOB)]).toEqual([false, true]);
});

test("S33 an attempt without an account is counted by its address, even if the device has been used with an account called null", async () => {
  class Named extends FullUser {
    static override identifierColumn = "name";
  }
  const attempt = Route.post("/attempt", async ({ auth, request }) => {
    return { user: (await auth.attempt(request.input("name"), request.input("password"))) !== null };
  }).middleware("throttle:login");
  const bucket = { attempts: 1, windowSeconds: 60 };
  const buckets = [
    { by: ["account", "address"], ...bucket, attempts: 5 },
    { by: ["address"], ...bucket },
  ];
  const accounts = await testAccounts({
    User: Named,
    routes: [attempt],
    throttle: { login: { account: "name", buckets } },
  });
  await Object.assign(await accounts.user(), { name: "null" }).save();
  const visitor = accounts.visitor();
  const post = async (name: string, password: string) => {
    const { status, body } = await visitor.post("/attempt", { name, password });
    return [status, body];
  };
  expect(await post("null", PASSWORD)).toEqual([200, { user: true }]);
  const tooLong = "x".repeat(255);
  expect(await post(tooLong, "wrong")).toEqual([200, { user: false }]);
  expect(await post(tooLong, "wrong")).toEqual([429, expect.anything()]);
});

test("S33 a login without an identifier or a password uses up nothing, a wrong one uses up an attempt, and a successful one gives it back", async () => {
  const attempt = Route.post("/attempt", async ({ auth, request }) => {
    return { user: await auth.attempt(request.input("email"), request.input("password")) };
  }).middleware("throttle:login");
  const limit = { account: "email", buckets: [{ by: ["account", "address"], attempts: 2, windowSeconds: 60 }] };
  const accounts = await testAccounts({ routes: [attempt], throttle: { login: limit } });
  const statuses = async (...passwords: unknown[]) => {
    const found: number[] = [];
    for (const password of passwords) {
      found.push((await accounts.visitor().post("/attempt", { email: ADA.email, password })).status);
    }
    return found;
  };
  expect(await statuses("", null, ["no text"], "wrong", PASSWORD)).toEqual(Array(5).fill(200));
  expect(await statuses("wrong", "", "wrong", "wrong", PASSWORD)).toEqual([200, 200, 200, 429, 429]);
});

test("S33 a response waits until a login, or a user's own password, has given back or cleared attempts, however slow the store is", async () => {
  let begun = Promise.withResolvers<void>();
  let settled = Promise.resolve();
  const settle = (): Promise<void> => {
    begun.resolve();
    return settled;
  };
  const store: ThrottleStore = {
    counter: () => ({
      add: async () => ({ attempts: 1, resetInMs: 60_000 }),
      get: async () => null,
      takeBack: settle,
      delete: settle,
    }),
    close: () => {},
  };
  const routes = [
    Route.post("/attempt", async ({ auth, request }) => {
      return { proved: (await auth.attempt(request.input("email"), request.input("password"))) !== null };
    }).middleware("throttle:login"),
    Route.post("/prove", async ({ auth, request }) => {
      return { proved: await auth.webGuard.confirmPassword(request.input("password")) };
    }),
  ];
  const accounts = await testAccounts({ routes, store, throttle: { login: { account: "email", ...by("account") } } });
  const visitor = await accounts.loggedIn();
  for (const path of ["/attempt", "/prove"]) {
    for (const [password, proved] of [
      ["", false],
      [PASSWORD, true],
    ] as const) {
      const { promise, resolve } = Promise.withResolvers<void>();
      [begun, settled] = [Promise.withResolvers<void>(), promise];
      let isAnswered = false;
      const answer = visitor.post(path, { email: ADA.email, password }).finally(() => {
        isAnswered = true;
      });
      await Promise.race([begun.promise, answer]);
      // Other requests get their response in the meantime.
      for (let time = 0; time < 5; time++) await accounts.visitor().get("/me");
      expect(isAnswered).toBe(false);
      resolve();
      expect((await answer).body).toEqual({ proved });
    }
  }
});

test("S69 an attempt counts for the account of the guard that is used, and for none without an identifier", async () => {
  class Admin extends AdminUser {}
  const attempt = Route.post("/attempt", async ({ auth, request }) => {
    const admin = auth.guard("admin");
    auth.guard("web");
    return { user: await admin.attempt(request.input("admin") ?? undefined, request.input("password")) };
  }).middleware("throttle:login");
  const accounts = await testAccounts({
    guards: { admin: { driver: "web", model: Admin } },
    models: [Admin],
    routes: [attempt],
    throttle: { login: { account: "email", ...by("account") } },
  });
  const statusOf = async (path: string, body: object) => (await accounts.visitor().post(path, body)).status;
  const asAdmin = (body: object) => statusOf("/attempt", { password: "wrong", ...body });
  // The route counts by the account in the form, until the guard names the actual one.
  expect(await asAdmin({ email: BOB.email, admin: ADA.email })).toBe(200);
  expect(await asAdmin({ email: BOB.email, admin: ADA.email })).toBe(429);
  expect(await asAdmin({ email: ADA.email })).toBe(200);
  const logins = [ADA, BOB].map(({ email }) => statusOf("/login", { email, password: PASSWORD }));
  expect(await Promise.all(logins)).toEqual([302, 302]);
});

test("S33 an attempt at an unknown guard is counted by the user, or by the address that it comes from", async () => {
  const attempt = Route.post("/attempt", async (context) => {
    const user = await context.auth.user();
    const named = context.request.input("by") === "user" ? { user } : { account: ADA.email };
    await context.auth.throttle!.hit(context, "login", { guard: "none", ...named });
    return {};
  });
  const accounts = await testAccounts({ routes: [attempt], throttle: { login: by("account") } });
  const [ada, bob] = [await accounts.loggedIn(ADA), await accounts.loggedIn(BOB)];
  const statuses: number[] = [];
  for (const visitor of [ada, ada, bob]) statuses.push((await visitor.post("/attempt", { by: "user" })).status);
  expect(statuses).toEqual([200, 429, 200]);
  // For such a guard, a name is not an account, so the attempt is counted by the address that it comes from.
  expect((await ada.post("/attempt", { by: "name" })).status).toBe(200);
  expect((await bob.post("/attempt", { by: "name" })).status).toBe(429);
});

/** Guards with the same rows: customers log in with the address, the staff with the name. */
async function twoDoors(throttle: object, steps: readonly LoginStep[] = []) {
  class User extends FullUser {}
  class Staff extends FullUser {
    static override identifierColumn = "name";
  }
  const enter = (guard: string) => {
    return Route.post(`/${guard}`, async ({ auth, request }) => {
      const own = auth.guard(guard) as LoginGuard;
      return { status: (await own.login(request.input("account"), request.input("password"))).status };
    });
  };
  const forgotten = Route.post("/staff/forgotten", async ({ accounts: own, auth }) => {
    auth.guard("staff");
    await own.requestPasswordReset(ADA.email);
    return "";
  });
  return testAccounts({
    User,
    models: [Staff],
    guards: { web: { model: User }, staff: { driver: "web", model: Staff }, steps },
    routes: [enter("web"), enter("staff"), forgotten],
    throttle: { login: WIDE, change_password: WIDE, ...throttle },
  });
}

test.each([
  ["login.step", {}],
  [
    "login.step.total",
    { "login.step": WIDE, "login.step.total": { buckets: [{ by: ["account"], attempts: 5, windowSeconds: 60 }] } },
  ],
])(
  "S33 S69 codes are counted by the user, whatever each guard of the same rows takes as the identifier: %s",
  async (_, limits) => {
    let verified = 0;
    const code: LoginStep = {
      name: "code",
      check: ({ prove }) => prove(() => ++verified < 0).then(() => "pending" as const),
    };
    const accounts = await twoDoors(limits, [code]);
    const statuses: number[] = [];
    for (const [path, account] of [
      ["/web", ADA.email],
      ["/staff", ADA.name],
    ]) {
      for (let attempt = 0; attempt < 4; attempt++) {
        statuses.push((await accounts.visitor().post(path!, { account, password: PASSWORD })).status);
      }
    }
    expect([verified, statuses]).toEqual([5, [200, 200, 200, 200, 200, 429, 429, 429]]);
    const bob = { account: BOB.name, password: PASSWORD };
    expect((await accounts.visitor().post("/staff", bob)).status).toBe(200);
  },
);

test("S33 S69 reset tokens are counted by the user, whatever each guard of the same rows takes as the identifier", async () => {
  const accounts = await twoDoors({ password_reset: { account: "token", ...by("account") } });
  const own = await accounts.resetToken(ADA);
  const post = async (token: string) => (await accounts.visitor().post("/password_reset", { ...RESET, token })).status;
  expect(await post(own)).not.toBe(429);
  await accounts.visitor().post("/staff/forgotten");
  const [mail] = await accounts.mails();
  expect(await post(/token=([\w.-]+)/.exec(mail!.text)![1]!)).toBe(429);
});

test("S33 S69 guards whose users are the same rows share their attempts if one names the default connection", async () => {
  class User extends FullUser {}
  class Staff extends FullUser {
    static override connection = "main";
  }
  const terms: LoginStep = { name: "terms", check: () => "pending" };
  const logged: Record<string, unknown>[] = [];
  const accounts = await testAccounts({
    User,
    models: [Staff],
    logged,
    guards: { web: { model: User, steps: [terms] }, staff: { driver: "web", model: Staff } },
    routes: [
      Route.post("/staff/login", async ({ auth, request }) => {
        return { user: await auth.guard("staff").attempt(request.input("email"), request.input("password")) };
      }).middleware("guard:staff", "throttle:login"),
    ],
    middleware: { guard: [GuardMiddleware] },
    throttle: { login: { account: "email", ...by("account") } },
  });
  const attempt = async (path: string) => {
    return (await accounts.visitor().post(path, { email: ADA.email, password: "wrong" })).status;
  };
  expect([await attempt("/login"), await attempt("/staff/login")]).toEqual([303, 429]);
  const warning = { guard: "staff", other: "web", steps: ["terms"] };
  expect(logged.filter(({ level }) => level === "warn")).toMatchObject([warning]);
});

test("S33 users without an identifier are counted by their keys", async () => {
  const count = Route.post("/count", async (context) => {
    const user = Object.assign((await context.auth.user())!, { email: "" });
    await context.auth.throttle!.hit(context, "login", { user });
    return {};
  });
  const accounts = await testAccounts({ routes: [count], throttle: { login: by("account") } });
  const [ada, bob] = [await accounts.loggedIn(ADA), await accounts.loggedIn(BOB)];
  const statuses: number[] = [];
  for (const visitor of [ada, ada, bob]) statuses.push((await visitor.post("/count")).status);
  expect(statuses).toEqual([200, 429, 200]);
});

test("S33 accounts are counted even if no guard knows devices", async () => {
  await Person.populate(PASSWORD);
  const application = await createApplication({
    kernel: kernelWith({ web: [], throttle: [ThrottleMiddleware] }),
    routes: [
      Route.post("/login", async ({ auth, request }) => {
        return { user: await auth.attempt(request.input("email"), request.input("password")) };
      }).middleware("throttle:login"),
    ],
    providers: [ThrottleProvider, AuthProvider, PeopleProvider],
    config: {
      auth: { GUARDS: { default: "web", web: { driver: "cookie", model: Person } } },
      throttle: { THROTTLE: { limits: { login: { account: "email", ...by("account") } } } },
    },
    environment: { APP_ENV: "test" },
  });
  onTestFinished(() => application.shutdown());
  const statuses: number[] = [];
  for (const { email } of [ADA, ADA, BOB]) {
    const body = new URLSearchParams({ email, password: "wrong" });
    statuses.push((await application.fetch(new Request("http://localhost/login", { method: "POST", body }))).status);
  }
  expect(statuses).toEqual([200, 429, 200]);
});
