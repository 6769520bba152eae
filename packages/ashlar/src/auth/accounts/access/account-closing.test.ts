import { expect, onTestFinished, test } from "vitest";
import {
  ADA,
  BOB,
  type FullUser,
  NEW_PASSWORD,
  PASSWORD,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
} from "../../../../test/support/account-application.ts";
import { onEachDatabase, type TestEngine } from "../../../../test/support/services.ts";
import { timestamp } from "../../../database/index.ts";
import { Route } from "../../../routing/index.ts";
import { travel, travelBack } from "../../../testing/index.ts";

const DAY_MINUTES = 24 * 60;
const DETAILS = { by: null, reason: null, address: null };
const PARALLEL = 20;

const STEP = {
  name: "terms",
  page: "terms",
  check: async ({ context, prove }: { context: { request: { bodyInput(name: string): unknown } }; prove: Prove }) => {
    const given = context.request.bodyInput("terms");
    if (given === undefined || given === null) return "pending";
    return (await prove(() => given === "accepted")) ? "passed" : { pending: "Accept the terms." };
  },
};
type Prove = (verify: () => boolean) => Promise<boolean>;

const ROUTES = [
  Route.get("/terms", () => "The terms.").name("terms"),
  Route.post("/terms", async ({ auth, response }) => {
    const login = await auth.webGuard.pendingLogin();
    return response.json({ status: (await login?.resume())?.status ?? null });
  }),
];

/** An application whose accounts can be closed and blocked. */
async function closable(engine: TestEngine | null, options: TestAccountsOptions = {}): Promise<TestAccounts> {
  const accounts = await testAccounts({ ...(engine === null ? {} : { engine }), ...options });
  const { kysely } = accounts.database;
  for (const column of ["blocked_at", "closes_at"]) {
    await kysely.schema.alterTable("users").addColumn(column, timestamp(kysely)).execute();
  }
  onTestFinished(travelBack);
  return accounts;
}

const servicesOf = ({ application }: TestAccounts) => application.container.make("accounts");

/** Closes Ada's account on the page. */
async function close(accounts: TestAccounts) {
  const visitor = await accounts.loggedIn();
  await accounts.mails();
  const page = await visitor.post("/account/close");
  expect([page.status, page.headers.get("location")]).toEqual([302, "/login"]);
  return { visitor, page };
}

async function closesAt(accounts: TestAccounts): Promise<Date | null> {
  return (await accounts.user()).closesAt();
}

/** A further process: another application on the same database. */
const anotherProcess = (accounts: TestAccounts, options: TestAccountsOptions = {}) => {
  return testAccounts({ ...options, restarted: accounts });
};

await onEachDatabase("closing an account", (engine) => {
  test("S51 ends all access, mails the date, and a login undoes it", async () => {
    const accounts = await closable(engine);
    const other = await accounts.loggedIn();
    const resetToken = await accounts.resetToken();
    const { visitor } = await close(accounts);
    const date = (await closesAt(accounts))!;
    expect(Math.round((date.getTime() - Date.now()) / 86_400_000)).toBe(30);
    for (const one of [visitor, other]) expect((await one.get("/me")).body).toEqual({ user: null });
    const [mail, ...more] = await accounts.mails();
    expect([mail?.subject, more, mail?.to]).toEqual(["Your account was closed", [], ADA.email]);
    expect(mail?.text).toContain(
      accounts.application.messages.translator("en")("mails.closed.delete", { moment: date }),
    );
    expect(mail?.text).toContain("https://shop.example/login");
    expect((await accounts.visitor().get(`/password_reset?token=${resetToken}`)).status).toBe(410);

    const back = await accounts.loggedIn();
    expect(await closesAt(accounts)).toBeNull();
    expect((await accounts.mails()).map(({ subject }) => subject)).toContain("Your account is open again");
    for (const one of [visitor, other]) expect((await one.get("/me")).body).toEqual({ user: null });
    expect((await back.get("/me")).body).toMatchObject({ user: { id: 1 } });
    expect((await accounts.application.prune())["closed accounts"]).toBe(0);
  });

  test("S208 a login undoes it only once every step has let it pass; a wrong password, a reset or a step does not", async () => {
    const accounts = await closable(engine, { guards: { steps: [STEP] }, routes: ROUTES });
    const user = await accounts.user();
    const date = (await servicesOf(accounts).closing.close("web", user as never, "none", DETAILS))!;
    await accounts.mails();
    const visitor = accounts.visitor();
    await visitor.post("/login", { email: ADA.email, password: "wrong wrong wrong" });
    expect(await closesAt(accounts)).toEqual(date);
    const token = await accounts.resetToken();
    const chosen = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    expect((await accounts.visitor().post("/password_reset", chosen)).headers.get("location")).toBe("/login");
    expect(await closesAt(accounts)).toEqual(date);
    await accounts.mails();
    const pending = await visitor.post("/login", { email: ADA.email, password: NEW_PASSWORD });
    expect(pending.headers.get("location")).toBe("/terms");
    expect((await visitor.post("/terms", { terms: "no" })).body).toEqual({ status: "pending" });
    expect([await closesAt(accounts), await accounts.mails()]).toEqual([date, []]);
    expect((await visitor.post("/terms", { terms: "accepted" })).body).toEqual({ status: "complete" });
    expect(await closesAt(accounts)).toBeNull();
    expect((await accounts.mails()).map(({ subject }) => subject)).toEqual(["Your account is open again"]);
  });

  test("S58 guests get the same responses and mails as for an account that isn't closed", async () => {
    const accounts = await closable(engine);
    await close(accounts);
    await accounts.mails();
    const responses = async ({ email }: { readonly email: string }) => {
      const visitor = accounts.visitor();
      const chosen = { name: "Eve", password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
      const all = [
        await visitor.post("/login", { email, password: "wrong wrong wrong" }),
        await visitor.post("/change_password", { email }),
        await visitor.post("/register", { ...chosen, email }, { accept: "application/json" }),
      ];
      const answers = all.map(({ status, headers, body }) => [status, headers.get("location"), body]);
      const mails = (await accounts.mails()).map(({ subject, to }) => [subject, to === email]);
      return { answers, mails: mails.toSorted() };
    };
    const ofAda = await responses(ADA);
    expect(ofAda.mails).toHaveLength(2);
    expect(await responses(BOB)).toEqual(ofAda);
  });

  test("S70 after the grace period, the account and what features store about it are deleted", async () => {
    const accounts = await closable(engine);
    await close(accounts);
    await accounts.mails();
    travel(30 * DAY_MINUTES - 1);
    expect((await accounts.application.prune())["closed accounts"]).toBe(0);
    travel(2);
    await accounts.visitor().post("/change_password", { email: ADA.email });
    expect((await accounts.application.prune())["closed accounts"]).toBe(1);
    expect((await accounts.rows("users")).map(({ id }) => Number(id))).toEqual([2]);
    for (const table of ["logins", "password_resets"]) expect(await accounts.rows(table)).toEqual([]);
    await accounts.mails();
    await accounts.visitor().post("/change_password", { email: ADA.email });
    expect(await accounts.mails()).toEqual([]);
  });

  test("S70 an anonymized account keeps only its row, without its address, name, password and tokens", async () => {
    const accounts = await closable(engine, { ACCOUNTS: { closing: { removal: "anonymize", graceDays: 7 } } });
    await close(accounts);
    travel(7 * DAY_MINUTES + 1);
    expect((await accounts.application.prune())["closed accounts"]).toBe(1);
    const [row, bob] = await accounts.rows("users");
    const text = String(row!.name);
    expect(text).toMatch(/^[0-9a-f]{16}$/);
    expect(row).toMatchObject({ email: `${text}@closed.invalid`, password: "!", api_token: null, closes_at: null });
    expect(row!.blocked_at).not.toBeNull();
    expect(bob).toMatchObject({ name: "Bob", closes_at: null });
    expect(await accounts.rows("logins")).toEqual([]);
    await expect(accounts.loggedIn()).rejects.toThrow("The login failed.");
    expect((await accounts.application.prune())["closed accounts"]).toBe(0);
    // The address is free again.
    const sent = { name: "Ada", email: ADA.email, password: PASSWORD, password_confirmation: PASSWORD };
    const page = await accounts.visitor().post("/register", sent);
    expect(page.headers.get("location")).toBe("/email/verify/notice");
  });

  test("S208 logins and prunings of two processes at once: the account is reopened or deleted, never both", async () => {
    const accounts = await closable(engine);
    const second = await anotherProcess(accounts);
    for (let round = 0; round < 3; round++) {
      const user = await accounts.User.findByIdentifier(ADA.email);
      if (user === null) break;
      await servicesOf(accounts).closing.close("web", user as never, "none", DETAILS);
      await accounts.database.kysely
        .updateTable("users")
        .set({ closes_at: new Date(0) })
        .where("id", "=", 1)
        .execute();
      await accounts.mails();
      const logins = Array.from({ length: PARALLEL }, (_, index) => {
        const application = index % 2 === 0 ? accounts : second;
        return application.loggedIn().catch(() => null);
      });
      const prunings = [accounts, second].map(({ application }) => application.prune());
      const [removed, visitors] = await Promise.all([Promise.all(prunings), Promise.all(logins)]);
      const count = removed.reduce((sum, pruned) => sum + pruned["closed accounts"]!, 0);
      const rows = await accounts.rows("users");
      const isThere = rows.some(({ id }) => Number(id) === 1);
      expect(count).toBe(isThere ? 0 : 1);
      if (isThere) expect(await closesAt(accounts)).toBeNull();
      const inside = [];
      for (const visitor of visitors) if (visitor !== null) inside.push((await visitor.get("/me")).body);
      if (isThere) expect(inside).toEqual(Array(PARALLEL).fill({ user: expect.objectContaining({ id: 1 }) }));
      else expect(inside).toEqual(inside.map(() => ({ user: null })));
    }
  });

  test("S208 an owner who has logged in keeps the account, although a pruning had read it as due", async () => {
    const accounts = await closable(engine);
    await close(accounts);
    travel(31 * DAY_MINUTES);
    const due = await accounts.user();
    await accounts.loggedIn();
    const removal = servicesOf(accounts).removal;
    expect(await removal.removeNow("web", due as never)).toBe(false);
    expect(await accounts.rows("users")).toHaveLength(2);
  });

  test("S208 two prunings at once remove each account once, in batches", async () => {
    const accounts = await closable(engine);
    const second = await anotherProcess(accounts);
    const { kysely } = accounts.database;
    for (let id = 10; id < 130; id++) {
      const columns = {
        id,
        name: "x",
        email: `u${id}@example.com`,
        access_epoch: `epoch ${id}`,
        closes_at: new Date(0),
      };
      await kysely.insertInto("users").values(columns).execute();
    }
    const removed = await Promise.all([accounts, second].map(({ application }) => application.prune()));
    expect(removed[0]!["closed accounts"]! + removed[1]!["closed accounts"]!).toBe(120);
    expect(await accounts.rows("users")).toHaveLength(2);
  });

  test("S52 a login that began before it was closed has no effect, and doesn't reopen it", async () => {
    const accounts = await closable(engine, {
      routes: [
        Route.post("/enter", async ({ auth, response }) => {
          const user = (await held) as FullUser;
          return response.json({ status: (await auth.webGuard.enter(user, { by: "password" })).status });
        }),
      ],
    });
    const held = accounts.user();
    await held;
    const { closing } = servicesOf(accounts);
    await closing.close("web", (await accounts.user()) as never, "none", DETAILS);
    expect((await accounts.visitor().post("/enter")).body).toEqual({ status: "failed" });
    expect(await closesAt(accounts)).not.toBeNull();
  });

  test("S52 of two requests that close it at once, one does, and its owner gets one mail", async () => {
    const accounts = await closable(engine);
    const visitors = [];
    for (let index = 0; index < 4; index++) visitors.push(await accounts.loggedIn());
    await accounts.mails();
    const pages = await Promise.all(visitors.map((visitor) => visitor.post("/account/close")));
    expect(pages.filter(({ headers }) => headers.get("location") === "/login").length).toBeGreaterThan(0);
    expect((await accounts.mails()).map(({ subject }) => subject)).toEqual(["Your account was closed"]);
  });

  test("without a grace period, it is deleted at once", async () => {
    const accounts = await closable(engine, { ACCOUNTS: { closing: { graceDays: 0 } } });
    await close(accounts);
    expect((await accounts.rows("users")).map(({ id }) => Number(id))).toEqual([2]);
    expect((await accounts.mails()).map(({ text }) => text)).toEqual([
      expect.stringContaining("We delete it with your data now."),
    ]);
  });
});

test("S51 the request that closes an account is a guest's from then on", async () => {
  const accounts = await closable(null, {
    routes: [
      Route.post("/close", async ({ accounts: own, auth, request, response }) => {
        const at = await own.close(request.user()!);
        return response.json({ at: at !== null, user: await auth.user(), request: request.user() });
      }),
    ],
  });
  const visitor = await accounts.loggedIn();
  expect((await visitor.post("/close")).body).toEqual({ at: true, user: null, request: null });
  expect(visitor.cookies).not.toHaveProperty("login");
});

test("a table without the column has accounts that can't be closed, and says what to do", async () => {
  const accounts = await testAccounts();
  const visitor = await accounts.loggedIn();
  expect((await visitor.post("/account/close")).status).toBe(500);
  const user = await accounts.user();
  await expect(servicesOf(accounts).closing.close("web", user as never, "none", DETAILS)).rejects.toThrow(
    "The table users has no column closes_at, so accounts can't be closed. Add it with npx ashlar auth --migrations",
  );
  expect(await accounts.application.prune()).not.toHaveProperty("closed accounts");
});
