import { describe, expect, test } from "vitest";
import { ADA, PASSWORD, testAccounts, type Visitor } from "../../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../../test/support/account-controllers.ts";
import type { Page } from "../../../../test/support/browser.ts";
import { createApplication } from "../../../boot/index.ts";
import { HttpKernel, type RouteMiddleware } from "../../../kernel/index.ts";
import type { RouteDefinition } from "../../../routing/index.ts";
import { ThrottleProvider } from "../../../throttle/index.ts";
import type { AuthControllers } from "./auth-controllers.ts";
import { AuthPageMiddleware } from "./auth-page-middleware.ts";
import { authRoutes } from "./auth-routes.ts";

/** A route as one line: `POST /login login.store (auth.page, throttle:login)`. */
function listed(routes: ReturnType<typeof authRoutes>): string[] {
  return [...routes].map(({ attributes: { methods, path, name, middleware } }) => {
    return `${methods.join("|")} ${path} ${name} (${middleware.join(", ")})`;
  });
}

const LOGIN = [
  "GET /login login (auth.page)",
  "POST /login login.store (auth.page, throttle:login)",
  "POST /logout logout (auth.page)",
  "GET /logout null (auth.page)",
];

describe("authRoutes()", () => {
  test("creates the documented routes with their names and middleware", () => {
    expect(listed(authRoutes(ACCOUNT_CONTROLLERS))).toEqual([
      ...LOGIN,
      "GET /home home (auth.page, auth)",
      "GET /register register (auth.page)",
      "POST /register register.store (auth.page, throttle:register)",
      "GET /change_password change_password (auth.page)",
      "POST /change_password change_password.store (auth.page, throttle:change_password)",
      "GET /password_reset password_reset (auth.page:token, throttle:password_reset.show)",
      "POST /password_reset password_reset.store (auth.page:token, throttle:password_reset)",
      "GET /email/verify/notice email.verify.notice (auth.page)",
      "GET /email/verify/@token email.verify (auth.page:token)",
      "POST /email/verify/@token email.verify.store (auth.page:token, throttle:email.undo)",
      "POST /email/resend email.resend (auth.page, auth, throttle:email.resend,user)",
      "GET /logins logins (auth.page, auth)",
      "DELETE /logins/@id logins.destroy (auth.page, auth)",
      "DELETE /logins logins.destroy_others (auth.page, auth, throttle:logins.destroy_others,user)",
      "GET /confirm_password confirm_password (auth.page, auth)",
      "POST /confirm_password confirm_password.store (auth.page, auth, throttle:login,user)",
      "GET /account/security account.security (auth.page, auth)",
      "GET /account/password account.password (auth.page, auth)",
      "POST /account/password account.password.store (auth.page, auth, throttle:login,user)",
      "GET /account/email account.email (auth.page, auth)",
      "POST /account/email account.email.store (auth.page, auth, throttle:email.resend,user)",
      "GET /account/close account.close (auth.page, auth, password.confirm:10)",
      "POST /account/close account.close.store (auth.page, auth, password.confirm:10)",
      "GET /email/undo/@token email.undo (auth.page:token)",
      "POST /email/undo/@token email.undo.store (auth.page:token, throttle:email.undo)",
      "GET /login/device/@token login.device (auth.page:token)",
      "POST /login/device/@token login.device.store (auth.page:token, throttle:email.undo)",
      "GET /.well-known/change-password null (auth.page)",
    ]);
  });

  test("a guard's routes have their own names, and the guard is active before anything is counted", () => {
    const routes = listed(authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/admin"));
    expect(routes).toHaveLength(31);
    expect(routes).toEqual(
      expect.arrayContaining([
        "GET /admin/login admin.login (auth.page, guard:admin)",
        "POST /admin/login admin.login.store (auth.page, guard:admin, throttle:login)",
        "GET /admin/logout null (auth.page, guard:admin)",
        "GET /admin/home admin.home (auth.page, guard:admin, auth:admin)",
        "GET /admin/email/verify/@token admin.email.verify (auth.page:token, guard:admin)",
        "POST /admin/password_reset admin.password_reset.store (auth.page:token, guard:admin, throttle:password_reset)",
        "POST /admin/email/resend admin.email.resend (auth.page, guard:admin, auth:admin, throttle:email.resend,user)",
      ]),
    );
  });

  test.each(["", "a b", "a:b", ":a", "a:", ",a", "a,", "a\n", 7, null])("guard: %j is refused", (guard) => {
    expect(() => authRoutes(ACCOUNT_CONTROLLERS, { guard } as { readonly guard: string })).toThrow(
      'Auth.routes: guard is not the name of a guard. Write { guard: "admin" }.',
    );
  });

  test("the address for password managers exists as long as there is a page for it to lead to", () => {
    const hasAddress = (leftOut: object): boolean =>
      listed(authRoutes(ACCOUNT_CONTROLLERS, leftOut)).some((route) => route.includes("/.well-known/"));
    expect(hasAddress({ changePassword: false })).toBe(true);
    expect(hasAddress({ requestPasswordReset: false })).toBe(true);
    expect(hasAddress({ changePassword: false, requestPasswordReset: false })).toBe(false);
  });

  test("the bodies of their forms are short, except for the registration's, which may contain a picture", () => {
    const isShort = ({ attributes }: RouteDefinition): boolean => attributes.bodyLimit === "64kb";
    const routes = [...authRoutes(ACCOUNT_CONTROLLERS)].filter(({ attributes }) => attributes.name !== null);
    const { true: short, false: others } = Object.groupBy(routes, (route) => `${isShort(route)}`);
    expect([short?.length, others?.map(({ attributes }) => attributes.name)]).toEqual([
      28,
      ["register", "register.store"],
    ]);
  });

  test("each group can be left out, and then needs no controller", () => {
    const { login, ...others } = ACCOUNT_CONTROLLERS;
    const groups = Object.keys(others) as Exclude<keyof AuthControllers, "login">[];
    const leftOut = Object.fromEntries(groups.map((group) => [group, false])) as Record<(typeof groups)[number], false>;
    expect(listed(authRoutes({ login }, leftOut))).toEqual(LOGIN);
    for (const group of groups) {
      const routes = listed(authRoutes(ACCOUNT_CONTROLLERS, { [group]: false } as { register: false }));
      expect([group, routes.length < 32, listed(authRoutes(ACCOUNT_CONTROLLERS)).length]).toEqual([group, true, 32]);
    }
  });

  test("a missing controller is named in the error, with a remedy", () => {
    const { register: _, ...others } = ACCOUNT_CONTROLLERS;
    expect(() => authRoutes(others as AuthControllers)).toThrow(
      'Auth.routes: the controller "register" is missing. Add register: RegisterController, or leave the routes out: { register: false }.',
    );
    // @ts-expect-error: the compiler reports it too.
    expect(() => authRoutes(others)).toThrow("Auth.routes");
    expect(listed(authRoutes(others, { register: false }))).toHaveLength(30);
  });

  test("an application without the controller of the page for new devices, or for security, has no such routes", () => {
    const { allowDevice: _, ...others } = ACCOUNT_CONTROLLERS;
    const { security: __, ...former } = ACCOUNT_CONTROLLERS;
    expect(listed(authRoutes(former)).filter((route) => route.includes("/account/security"))).toEqual([]);
    expect(listed(authRoutes(others)).filter((route) => route.includes("/login/device"))).toEqual([]);
    expect(listed(authRoutes(others))).toHaveLength(30);
  });

  test("a misspelled group causes an error that suggests similar ones", () => {
    const options = { registration: false } as unknown as { register: false };
    expect(() => authRoutes(ACCOUNT_CONTROLLERS, options)).toThrow(
      'Auth.routes: "registration" is not a group of routes.',
    );
    const controllers = { ...ACCOUNT_CONTROLLERS, logn: ACCOUNT_CONTROLLERS.login };
    expect(() => authRoutes(controllers)).toThrow('"logn" is not a group of routes. Did you mean "login" or "logins"?');
  });

  test("a kernel that lacks the throttle, or any other middleware of the routes, makes startup fail", async () => {
    class Kernel extends HttpKernel {
      override routeMiddleware: RouteMiddleware = { web: [], "auth.page": [AuthPageMiddleware] };
    }
    const boot = createApplication({
      kernel: Kernel,
      routes: authRoutes(ACCOUNT_CONTROLLERS).routes,
      providers: [ThrottleProvider],
      environment: { APP_ENV: "test" },
    });
    await expect(boot).rejects.toThrow(/POST \/login: the middleware "throttle" is unknown\.[\s\S]*"auth" is unknown/);
  });
});

describe("the responses of the routes", () => {
  const GUEST_PATHS = [
    "/login",
    "/register",
    "/change_password",
    "/password_reset?token=x",
    "/email/verify/notice",
    "/email/verify/token",
    "/logout",
  ];
  const USER_PATHS = [
    "/home",
    "/logins",
    "/account/security",
    "/confirm_password",
    "/account/password",
    "/account/email",
  ];

  test.each([...GUEST_PATHS, ...USER_PATHS])(
    "S16 GET %s carries Cache-Control: no-store, for guests and users",
    async (path) => {
      const accounts = await testAccounts();
      for (const visitor of [accounts.visitor(), await accounts.loggedIn()]) {
        expect((await visitor.get(path)).headers.get("cache-control")).toMatch(/^(?:private, )?no-store$/);
      }
    },
  );

  test.each([
    ["/login", { email: ADA.email, password: PASSWORD }],
    ["/login", { email: ADA.email, password: "another password" }],
    ["/register", {}],
    ["/change_password", { email: ADA.email }],
    ["/change_password", {}],
    ["/password_reset", {}],
    ["/email/resend", {}],
    ["/logout", {}],
    ["/confirm_password", {}],
    ["/account/password", {}],
    ["/account/email", {}],
  ])(
    "S16 POST %s with %j carries Cache-Control: no-store, for guests and users, pages and JSON",
    async (path, sent) => {
      const accounts = await testAccounts();
      for (const accept of ["text/html", "application/json"]) {
        for (const visitor of [accounts.visitor(), await accounts.loggedIn()]) {
          expect((await visitor.post(path, sent, { accept })).headers.get("cache-control")).toMatch(
            /^(?:private, )?no-store$/,
          );
        }
      }
    },
  );

  test("S16 pages with a token in the URL carry Referrer-Policy: no-referrer, and no others except error pages", async () => {
    const accounts = await testAccounts();
    const visitor = accounts.visitor();
    const policies: [string, string | null][] = [];
    for (const path of GUEST_PATHS) policies.push([path, (await visitor.get(path)).headers.get("referrer-policy")]);
    expect(policies.filter(([, policy]) => policy !== null)).toEqual([
      ["/password_reset?token=x", "no-referrer"],
      ["/email/verify/token", "no-referrer"],
      ["/logout", "no-referrer"],
    ]);
  });

  test.each([
    ["/login", { email: ADA.email, password: "another password" }],
    ["/register", {}],
    ["/change_password", { email: "nobody@example.com" }],
    ["/password_reset", { token: "x" }],
  ])("S33 POST %s is throttled", async (path, sent) => {
    const limit = { buckets: [{ by: ["address"], attempts: 2, windowSeconds: 60 }] };
    const names = ["login", "register", "password_reset", "change_password", "email.resend"];
    const accounts = await testAccounts({ throttle: Object.fromEntries(names.map((name) => [name, limit])) });
    const visitor = accounts.visitor();
    const statuses: number[] = [];
    for (let time = 0; time < 3; time++) statuses.push((await visitor.post(path, sent)).status);
    expect([statuses.slice(0, 2).includes(429), statuses[2]]).toEqual([false, 429]);
  });

  const wrong = { password: "another password", current_password: "another password", email: "new@example.com" };

  test.each(["/email/resend", "/confirm_password", "/account/password", "/account/email"])(
    "S33 POST %s is throttled for users, and guests, who are sent to /login, use up no attempts",
    async (path) => {
      const limit = { buckets: [{ by: ["address"], attempts: 3, windowSeconds: 60 }] };
      const names = ["login", "register", "password_reset", "change_password", "email.resend"];
      const accounts = await testAccounts({ throttle: Object.fromEntries(names.map((name) => [name, limit])) });
      const guest = accounts.visitor();
      for (let time = 0; time < 5; time++) expect((await guest.post(path)).headers.get("location")).toBe("/login");
      const visitor = await accounts.loggedIn();
      const statuses: number[] = [];
      for (let time = 0; time < 4; time++) statuses.push((await visitor.post(path, wrong)).status);
      expect(statuses.at(-1)).toBe(429);
    },
  );

  test("a guest is sent to /login before a body that is too long is read", async () => {
    const accounts = await testAccounts();
    const long = { current_password: "x".repeat(100_000) };
    const answer = await accounts.visitor().post("/account/password", long);
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "/login"]);
    expect((await (await accounts.loggedIn()).post("/account/password", long)).status).toBe(413);
  });

  test("S28 GET /logout does not log the user out, and responds that only POST does", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    const { status, headers, body } = await visitor.get("/logout", { accept: "application/json" });
    expect([status, headers.get("allow"), body]).toMatchObject([405, "POST", { code: "E_METHOD_NOT_ALLOWED" }]);
    expect(await visitor.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
  });

  test("S28 GET and HEAD change nothing", async () => {
    const accounts = await testAccounts();
    const visitor = await accounts.loggedIn();
    const tables = ["users", "logins", "password_resets"];
    const state = async (): Promise<unknown> => Promise.all(tables.map((table) => accounts.rows(table)));
    const before = await state();
    const query = `?email=${ADA.email}&password=${PASSWORD}&current_password=${PASSWORD}&token=x&__method=POST`;
    for (const path of [...GUEST_PATHS, ...USER_PATHS, "/email/resend"]) {
      await visitor.get(path.includes("?") ? path : path + query);
      await accounts.head(path);
    }
    expect(await state()).toEqual(before);
    expect([await accounts.mails(), accounts.told.length]).toEqual([[], 1]);
  });

  test("S30 no spelling of a path reaches a route without its limits", async () => {
    const accounts = await testAccounts();
    const visitor = accounts.visitor();
    const sent = { email: ADA.email, password: PASSWORD };
    for (const path of ["//login", "/LOGIN", "/%6cogin"]) {
      expect([path, (await visitor.post(path, sent)).status]).toEqual([
        path,
        path === "/%6cogin" ? expect.any(Number) : 404,
      ]);
    }
    const { headers } = await visitor.post("/login/", { ...sent, password: "another password" });
    expect(headers.has("ratelimit")).toBe(true);
  });

  test("the logins page lists the devices and ends them", async () => {
    const accounts = await testAccounts();
    const [here, there] = [await accounts.loggedIn(), await accounts.loggedIn()];
    const [current, other] = devices(await here.get("/logins")).toSorted(
      (a, b) => Number(b.isCurrent) - Number(a.isCurrent),
    );
    expect([current?.isCurrent, other?.isCurrent]).toEqual([true, false]);
    const ended = await sendForm(here, `/logins/${other!.id}`);
    expect([ended.status, ended.headers.get("location")]).toEqual([302, "/logins"]);
    expect(await there.get("/me")).toMatchObject({ body: { user: null } });
    await accounts.loggedIn();
    await sendForm(here, "/logins");
    expect(devices(await here.get("/logins"))).toHaveLength(1);
  });
});

/** The devices that the logins page lists. */
function devices({ body }: Page): { readonly id: string; readonly isCurrent: boolean }[] {
  return String(body)
    .split("<li>")
    .flatMap((item) => {
      const [, id] = /action="\/logins\/(\d+)"/.exec(item) ?? [];
      return id === undefined ? [] : [{ id, isCurrent: item.includes("This device") }];
    });
}

/** A form cannot send DELETE, so it names the method in the body. */
function sendForm(visitor: Visitor, path: string): Promise<Page> {
  return visitor.send(path, { method: "POST", body: new URLSearchParams({ __method: "DELETE" }) });
}

describe("AuthPageMiddleware", () => {
  test.each([["tokens"], ["token", "more"], [""]])("auth.page:%s makes startup fail", (...args) => {
    expect(() => new AuthPageMiddleware().checkArguments(...args)).toThrow(
      "This middleware takes no argument, or token",
    );
  });

  test("auth.page and auth.page:token are accepted", () => {
    expect([new AuthPageMiddleware().checkArguments(), new AuthPageMiddleware().checkArguments("token")]).toEqual([
      undefined,
      undefined,
    ]);
  });
});
