import { describe, expect, test } from "vitest";
import { ADA, AdminUser, FullUser, PlainUser, testAccounts } from "../../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../../test/support/account-controllers.ts";
import { onEachDatabase } from "../../../../test/support/services.ts";
import { EventProvider } from "../../../events/index.ts";
import type { HttpContext, HttpRequest } from "../../../http/index.ts";
import type { Mailable, Mailer } from "../../../mail/index.ts";
import { Route, type RouteEntry } from "../../../routing/index.ts";
import { isVerifiable } from "../../users/authenticatable.ts";
import { BUILT_IN_MAILS } from "../mails/built-in-mails.ts";
import { authRoutes } from "../pages/auth-routes.ts";

await onEachDatabase("MustVerifyEmail", (engine) => {
  test("hasVerifiedEmail() returns whether verified_at is set", async () => {
    const accounts = await testAccounts({ engine });
    const user = await accounts.user();
    expect([user.verified_at, user.hasVerifiedEmail(), new accounts.User().hasVerifiedEmail()]).toEqual([
      null,
      false,
      false,
    ]);
    await accounts.User.where("id", ADA.id).update({ verified_at: new Date() });
    expect((await accounts.user()).hasVerifiedEmail()).toBe(true);
  });

  test("markEmailAsVerified() sets verified_at to the current time, in the table and on the model", async () => {
    const accounts = await testAccounts({ engine });
    const user = await accounts.user();
    const before = Date.now();
    expect(await user.markEmailAsVerified()).toBe(true);
    expect([user.hasVerifiedEmail(), user.isDirty()]).toEqual([true, false]);
    const stored = (await accounts.user()).verified_at!;
    expect(stored.getTime()).toBeGreaterThanOrEqual(before);
    expect(stored).toEqual(user.verified_at);
  });

  test("markEmailAsVerified() keeps an earlier time, and saves other changes", async () => {
    const accounts = await testAccounts({ engine });
    const user = await accounts.user();
    await user.markEmailAsVerified();
    const first = user.verified_at;
    const stale = await accounts.user();
    stale.name = "Augusta";
    expect(await stale.markEmailAsVerified()).toBe(false);
    expect([stale.verified_at, stale.name, stale.isDirty()]).toEqual([first, "Augusta", false]);
    const stored = await accounts.user();
    expect([stored.verified_at, stored.name]).toEqual([first, "Augusta"]);
  });

  test("markEmailAsVerified() sets the current time even if another one was set on the model, which fill() cannot do", async () => {
    const accounts = await testAccounts({ engine });
    const user = await accounts.user();
    const before = Date.now();
    user.fill({ name: "Augusta", verified_at: new Date(0) } as object);
    expect([user.name, user.verified_at]).toEqual(["Augusta", null]);
    user.verified_at = new Date(0);
    expect([await user.markEmailAsVerified(), user.isDirty()]).toEqual([true, false]);
    expect(user.verified_at.getTime()).toBeGreaterThanOrEqual(before);
    const stored = await accounts.user();
    expect([stored.name, stored.verified_at]).toEqual(["Augusta", user.verified_at]);
  });

  test("markEmailAsVerified() stores a new model", async () => {
    const accounts = await testAccounts({ engine });
    const user = new accounts.User().fill({ name: "Grace", email: "grace@example.com" });
    await user.setPassword("a password of hers");
    expect(await user.markEmailAsVerified()).toBe(true);
    expect([user.isStored(), user.hasVerifiedEmail(), user.isDirty()]).toEqual([true, true, false]);
    const stored = await accounts.user(user.id);
    expect([stored.name, stored.verified_at]).toEqual(["Grace", user.verified_at]);
    expect(await user.markEmailAsVerified()).toBe(false);
    const known = new accounts.User().fill({ name: "Mary", email: "mary@example.com" });
    await known.setPassword("a password of hers");
    known.verified_at = new Date(0);
    expect([await known.markEmailAsVerified(), (await accounts.user(known.id)).verified_at]).toEqual([
      false,
      new Date(0),
    ]);
  });

  test("of 20 parallel calls of markEmailAsVerified(), one returns true", async () => {
    const accounts = await testAccounts({ engine });
    const users = await Promise.all(Array.from({ length: 20 }, () => accounts.user()));
    const done = await Promise.all(users.map((user) => user.markEmailAsVerified()));
    expect(done.filter(Boolean)).toHaveLength(1);
    expect(users.every((user) => user.hasVerifiedEmail())).toBe(true);
  });
});

describe("verifyEmail(mail, request)", () => {
  test("mails a link and emits an event with the address of the request", async () => {
    const routes = [
      Route.post("/verify/@id", async ({ request }) => {
        const user = await accounts.user(Number(request.param("id")));
        await user.verifyEmail(accounts.application.container.make("mail"), request);
        return { done: true };
      }),
    ];
    const accounts = await testAccounts({ routes });
    expect(await accounts.visitor().post("/verify/2")).toMatchObject({ status: 200 });
    const [mail] = await accounts.mails();
    expect([mail?.to, mail?.subject]).toEqual(["bob@example.com", "Verify your email address"]);
    expect(await accounts.toldOf("auth.verification_sent")).toEqual([
      {
        time: expect.any(Date),
        address: "203.0.113.7",
        guard: "web",
        user: expect.objectContaining({ id: 2 }),
        email: "bob@example.com",
      },
    ]);
  });

  test("uses the mailer it is given, even if a model sends its own mail", async () => {
    class User extends FullUser {
      override async verifyEmail(mail: Mailer, request: HttpRequest): Promise<void> {
        await super.verifyEmail(mail, request);
        const recorder = { queue: (_: Mailable, to: string) => void recorded.push(to) };
        await super.verifyEmail(recorder as unknown as Mailer, request);
        mail.queue(new BUILT_IN_MAILS.emailChanged!({ newEmail: this.email } as never), "support@example.com");
      }
    }
    const recorded: unknown[] = [];
    const accounts = await testAccounts({ User });
    await (await accounts.loggedIn()).post("/email/resend");
    expect((await accounts.mails()).map(({ to }) => to)).toEqual([ADA.email, "support@example.com"]);
    expect(recorded).toEqual([ADA.email]);
  });

  test("a model that no guard uses is an error with a remedy", async () => {
    const accounts = await testAccounts();
    class Stranger extends FullUser {}
    const stranger = new Stranger().fill({ email: "x@example.com" });
    const mail = accounts.application.container.make("mail");
    await expect(stranger.verifyEmail(mail, null as never)).rejects.toMatchObject({
      code: "E_UNKNOWN_SERVICE",
      message:
        "The model Stranger does not belong to a guard. List AuthProvider in PROVIDERS, and name the class in config/auth.ts: GUARDS.",
    });
  });

  test("links to the page of a guard that the user belongs to, preferably the active one", async () => {
    class User extends FullUser {}
    class Admin extends AdminUser {}
    class Elsewhere extends User {
      static override table = "admins";
    }
    const mailed = async ({ request }: HttpContext) => {
      const model = { User, Admin, Elsewhere }[String(request.param("model"))]!;
      await (await model.findOrFail(1)).verifyEmail(accounts.application.container.make("mail"), request);
      return { done: true };
    };
    const pages = (guard: string): RouteEntry => authRoutes(ACCOUNT_CONTROLLERS, { guard }).prefix(`/${guard}`);
    const accounts = await testAccounts({
      User,
      models: [Admin],
      guards: { admin: { driver: "web", model: Admin }, staff: { driver: "web", model: User } },
      routes: [
        pages("admin"),
        pages("staff"),
        Route.post("/@model", mailed),
        Route.post("/as-staff/@model", mailed).middleware("guard:staff"),
      ],
    });
    const visitor = accounts.visitor();
    for (const [path, page, guard] of [
      ["/User", "/email/verify/", "web"],
      ["/as-staff/User", "/staff/email/verify/", "staff"],
      ["/Admin", "/admin/email/verify/", "admin"],
      ["/as-staff/Admin", "/admin/email/verify/", "admin"],
    ] as const) {
      expect((await visitor.post(path)).status).toBe(200);
      expect((await accounts.link()).startsWith(page)).toBe(true);
      expect(await accounts.toldOf("auth.verification_sent")).toMatchObject([{ guard }]);
      accounts.told.length = 0;
    }
    expect(await visitor.post("/Elsewhere", {}, { accept: "application/json" })).toMatchObject({
      status: 500,
      body: {
        code: "E_INVALID_CONFIGURATION",
        detail: "config/auth.ts: GUARDS: no guard has users of the class Elsewhere. Write web: { model: User }.",
      },
    });
  });

  test("works without events, and then no mails about new devices are sent", async () => {
    const ACCOUNTS = { mailables: { newDevice: BUILT_IN_MAILS.emailTaken } };
    const accounts = await testAccounts({ ACCOUNTS, without: [EventProvider] });
    const { status } = await (await accounts.loggedIn()).post("/email/resend");
    expect([status, (await accounts.mails()).map(({ subject }) => subject)]).toEqual([
      302,
      ["Verify your email address"],
    ]);
  });
});

test("whether a user can verify an address is determined by its methods", () => {
  expect([isVerifiable(new FullUser()), isVerifiable(new PlainUser()), isVerifiable({})]).toEqual([true, false, false]);
  const half = [{ hasVerifiedEmail: () => true }, { verifyEmail: async () => {} }];
  expect(half.map(isVerifiable)).toEqual([false, false]);
});
