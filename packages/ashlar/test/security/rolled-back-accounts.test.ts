import { expect, test } from "vitest";
import type { HttpContext } from "../../src/http/index.ts";
import { Route } from "../../src/routing/index.ts";
import { FullUser, NEW_PASSWORD, PASSWORD, type TestAccounts, testAccounts } from "../support/account-application.ts";
import { onEachDatabase } from "../support/services.ts";

const CLEO = { name: "Cleo", email: "cleo@example.com", password: PASSWORD, password_confirmation: PASSWORD };
const NO = new Error("no");

/** Runs a handler's work in a transaction, which is rolled back if the request asks for it. */
function attempt(work: (context: HttpContext) => Promise<unknown>, owner: () => TestAccounts) {
  return Route.post("/attempt", async (context) => {
    const { auth, request, session } = context;
    const before = session.id;
    let failed = false;
    await owner()
      .database.transaction(async () => {
        await work(context);
        if (request.boolean("fails", false)) throw NO;
      })
      .catch((error: unknown) => {
        if (error !== NO) throw error;
        failed = true;
      });
    const user = await auth.user();
    return {
      failed,
      user: (user as FullUser | null)?.email ?? null,
      isSameSession: session.id === before,
      cart: session.get("cart"),
    };
  });
}

async function shop(
  engine: Parameters<Parameters<typeof onEachDatabase>[1]>[0],
  work: (context: HttpContext) => Promise<unknown>,
) {
  const accounts: TestAccounts = await testAccounts({ engine, routes: [attempt(work, () => accounts)] });
  return accounts;
}

const register = async ({ accounts, auth, session }: HttpContext): Promise<void> => {
  session.put("cart", "full");
  await accounts.register(CLEO, async (user) => {
    await accounts.sendVerification(user);
    await auth.loginAs(user, { firstLogin: true });
  });
};

await onEachDatabase("accounts and rollbacks", (engine) => {
  test("S68 a rolled-back registration leaves no account, mail, event, login or cookie", async () => {
    const accounts = await shop(engine, register);
    const visitor = accounts.visitor();
    const { body, headers } = await visitor.post("/attempt", { fails: true });
    expect(body).toEqual({ failed: true, user: null, isSameSession: true, cart: null });
    expect(headers.getSetCookie().filter((cookie) => /^(?:__Host-)?(?:token|device)=/.test(cookie))).toEqual([]);
    expect(await accounts.mails()).toEqual([]);
    expect(accounts.told).toEqual([]);
    expect([await accounts.rows("users"), await accounts.rows("logins")]).toEqual([
      [expect.anything(), expect.anything()],
      [],
    ]);
    expect((await visitor.get("/me")).body).toEqual({ user: null });
  });

  test("the same registration, committed, has all of them, in order", async () => {
    const accounts = await shop(engine, register);
    const visitor = accounts.visitor();
    const { body } = await visitor.post("/attempt", { fails: false });
    expect(body).toEqual({ failed: false, user: CLEO.email, isSameSession: false, cart: "full" });
    expect((await accounts.mails()).map(({ to }) => to)).toEqual([CLEO.email]);
    expect(accounts.told.map(([name]) => name)).toEqual(["auth.registered", "auth.verification_sent", "auth.login"]);
    expect((await visitor.get("/me")).body).toMatchObject({ user: { email: CLEO.email } });
  });

  test("S68 after a rolled-back logout, the user is still logged in", async () => {
    const accounts = await shop(engine, ({ auth }) => auth.logout());
    const visitor = await accounts.loggedIn();
    const { body } = await visitor.post("/attempt", { fails: true });
    expect(body).toMatchObject({ failed: true, user: "ada@example.com", isSameSession: true });
    expect((await visitor.get("/me")).body).toMatchObject({ user: { email: "ada@example.com" } });
  });

  test("S68 a rolled-back change of password mails no notice, and ends no login", async () => {
    const accounts = await shop(engine, ({ accounts: own }) =>
      own.changePassword(PASSWORD, NEW_PASSWORD, NEW_PASSWORD),
    );
    const [visitor, other] = [await accounts.loggedIn(), await accounts.loggedIn()];
    await accounts.mails();
    const { body } = await visitor.post("/attempt", { fails: true });
    expect(body).toMatchObject({ failed: true, user: "ada@example.com" });
    expect(await accounts.mails()).toEqual([]);
    for (const one of [visitor, other]) {
      expect((await one.get("/me")).body).toMatchObject({ user: { email: "ada@example.com" } });
    }
  });

  test("a registration is one transaction, with everything that belongs to it", async () => {
    const accounts = await testAccounts({ engine, User: class extends FullUser {} });
    const statements: string[] = [];
    const end = accounts.database.onQuery(({ sql }) => void statements.push(sql.split(" ", 3).join(" ").toLowerCase()));
    const { status } = await accounts.visitor().post("/register", CLEO);
    end();
    expect(status).toBe(302);
    const writes = statements.filter((sql) =>
      /^(?:begin|start|commit|rollback|savepoint|release|insert|update|delete)/.test(sql),
    );
    expect(writes.filter((sql) => /^(?:begin|start|commit|rollback|savepoint)/.test(sql))).toHaveLength(2);
    const [began, ended] = [
      writes.findIndex((sql) => /^(?:begin|start)/.test(sql)),
      writes.findIndex((sql) => sql.startsWith("commit")),
    ];
    const inside = writes.slice(began + 1, ended).map((sql) => sql.replaceAll(/["`]/g, ""));
    // The last one ends logins beyond the limit.
    const insertions = ["users", "mail_outbox", "logins"].map((table) => `insert into ${table}`);
    expect(inside).toEqual([...insertions, "delete from logins"]);
  });

  test("if what belongs to a registration fails, there is no account, and its error is thrown", async () => {
    const accounts = await shop(engine, (context) =>
      context.accounts.register(CLEO, () => {
        throw NO;
      }),
    );
    const { body } = await accounts.visitor().post("/attempt", {});
    expect(body).toMatchObject({ failed: true, user: null });
    expect(await accounts.rows("users")).toHaveLength(2);
    expect(accounts.told).toEqual([]);
  });
});
