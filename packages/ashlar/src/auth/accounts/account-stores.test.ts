import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { User } from "../../../test/extensions/drizzle-users.ts";
import { FullUser, NEW_PASSWORD, PASSWORD, pathIn, testAccounts } from "../../../test/support/account-application.ts";
import { passwordHash } from "../../../test/support/application-parts.ts";
import { breakLogins, CLEO, isIn, storeShop } from "../../../test/support/store-shop.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { now, setClock } from "../../support/index.ts";

const CHANGE = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };

describe("accounts in an application's own store", () => {
  test("a failure after the store has written is rolled back there too", async () => {
    const { accounts, rows, cleo } = await storeShop();
    const visitor = await cleo();
    const before = rows();
    const mend = breakLogins(accounts);
    expect((await visitor.post("/account/password", CHANGE)).status).toBe(500);
    expect((await visitor.post("/logins", { __method: "DELETE" })).status).toBe(500);
    mend();
    expect(rows()).toEqual(before);
    expect(await isIn(visitor)).toBe(true);
    expect((await visitor.post("/account/password", CHANGE)).headers.get("location")).toBe("/home");
  });

  test("S51 the rest of a request uses the changed user, whose login continues", async () => {
    const changing = async ({ accounts, auth }: HttpContext) => {
      const { current_password, password, password_confirmation } = CHANGE;
      const before = await auth.user();
      await accounts.changePassword(current_password, password, password_confirmation);
      return { isNew: (await auth.user()) !== before, devices: (await auth.logins().list()).length };
    };
    const leaving = async ({ auth }: HttpContext) => {
      return { ended: await auth.logins().endOthers(), devices: (await auth.logins().list()).length };
    };
    const { accounts, cleo } = await storeShop({
      routes: [Route.post("/change", changing), Route.post("/leave", leaving)],
    });
    const visitor = await cleo();
    expect((await visitor.post("/change")).body).toEqual({ isNew: true, devices: 1 });
    const other = await accounts.loggedIn(CLEO, NEW_PASSWORD);
    expect((await visitor.post("/leave")).body).toEqual({ ended: 1, devices: 1 });
    expect([await isIn(visitor), await isIn(other)]).toEqual([true, false]);
  });

  test("S51 logging out everywhere invalidates links in mails", async () => {
    const leaving = async ({ auth }: HttpContext) => ({ ended: await auth.logins().endAll() });
    const { accounts, cleo } = await storeShop({ routes: [Route.post("/leave", leaving)] });
    const [here, there] = [await cleo(), await accounts.loggedIn(CLEO)];
    const token = await accounts.resetToken(CLEO);
    expect((await here.post("/leave")).body).toEqual({ ended: 2 });
    expect([await isIn(here), await isIn(there)]).toEqual([false, false]);
    const reset = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await accounts.visitor().post("/password_reset", reset);
    await accounts.loggedIn(CLEO);
  });

  const AT_ONCE = 10;
  test("S38 of many concurrent uses of a verification link, only one has an effect", async () => {
    const { accounts, rows, cleo } = await storeShop();
    await cleo();
    const path = pathIn((await accounts.mails())[0]!);
    await Promise.all(Array.from({ length: AT_ONCE }, () => accounts.visitor().post(path)));
    expect(rows()).toMatchObject([{ verified_at: expect.any(Number) }]);
    expect(await accounts.toldOf("auth.email_verified")).toHaveLength(1);
  });

  test("S39 of many new passwords set concurrently with one link, only one is stored", async () => {
    const { accounts, cleo } = await storeShop();
    await cleo();
    const token = await accounts.resetToken(CLEO);
    const passwords = Array.from({ length: AT_ONCE }, (_, index) => `a password of number ${index}`);
    const set = (password: string) => {
      return accounts.visitor().post("/password_reset", { token, password, password_confirmation: password });
    };
    const targets = (await Promise.all(passwords.map(set))).map(({ headers }) => headers.get("location"));
    expect(targets.filter((target) => target === "/login")).toHaveLength(1);
    await accounts.loggedIn(CLEO, passwords[targets.indexOf("/login")]);
    expect(await accounts.toldOf("auth.password_reset")).toHaveLength(1);
  });

  test("S51 of many concurrent uses of a link that undoes a change of address, only one has an effect", async () => {
    const { accounts, rows, cleo } = await storeShop();
    const visitor = await cleo();
    await visitor.get(pathIn((await accounts.mails())[0]!));
    await visitor.post("/account/email", { email: "cleo@example.org", password: PASSWORD });
    await visitor.get(pathIn((await accounts.mails()).find(({ to }) => to === "cleo@example.org")!));
    const path = pathIn((await accounts.mails()).find(({ to }) => to === CLEO.email)!);
    await Promise.all(Array.from({ length: AT_ONCE }, () => accounts.visitor().post(path)));
    expect(rows()).toMatchObject([{ email: CLEO.email, password: "!" }]);
    expect(await accounts.toldOf("auth.email_change_undone")).toHaveLength(1);
  });

  test("S51 ending all access to an account also invalidates links in mails", async () => {
    const blocking = async ({ accounts }: HttpContext) => {
      const user = (await store.findByEmail(CLEO.email))!;
      return { ended: await accounts.endAccess(user), again: await accounts.endAccess(user) };
    };
    const { accounts, store, rows, cleo } = await storeShop({ routes: [Route.post("/block", blocking)] });
    const visitor = await cleo();
    const token = await accounts.resetToken(CLEO);
    const [before] = rows() as { access_epoch: string }[];
    expect((await accounts.visitor().post("/block")).body).toEqual({ ended: true, again: true });
    expect((rows() as { access_epoch: string }[])[0]?.access_epoch).not.toBe(before?.access_epoch);
    expect([await isIn(visitor), await accounts.rows("logins")]).toEqual([false, []]);
    const reset = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await accounts.visitor().post("/password_reset", reset);
    await accounts.loggedIn(CLEO);
  });

  test("S51 ending all access to an account fails, and changes nothing, if its logins cannot be ended", async () => {
    const blocking = async ({ accounts }: HttpContext) => {
      return { ended: await accounts.endAccess((await store.findByEmail(CLEO.email))!) };
    };
    const { accounts, store, rows, cleo } = await storeShop({ routes: [Route.post("/block", blocking)] });
    const visitor = await cleo();
    const before = rows();
    const mend = breakLogins(accounts);
    expect((await accounts.visitor().post("/block")).status).toBe(500);
    mend();
    expect([rows(), await isIn(visitor)]).toEqual([before, true]);
  });

  test("ending all access to an account that no longer exists reports that", async () => {
    const blocking = async ({ accounts }: HttpContext) => {
      const user = (await store.findByEmail(CLEO.email))!;
      await store.delete(user);
      return { ended: await accounts.endAccess(user) };
    };
    const { accounts, store, cleo } = await storeShop({ routes: [Route.post("/block", blocking)] });
    await cleo();
    expect(await accounts.visitor().post("/block")).toMatchObject({ status: 200, body: { ended: false } });
  });

  test("S51 everything that ends access also ends the user's own credentials, or changes nothing", async () => {
    const ended: string[] = [];
    let isBroken = false;
    const prototype: object = User.prototype;
    onTestFinished(() => void Reflect.deleteProperty(prototype, "endCredentials"));
    Object.assign(prototype, {
      async endCredentials(this: User): Promise<void> {
        // It is called on the changed user, so that credentials that are issued in the meantime can be told apart.
        ended.push(this.accessEpoch());
        if (isBroken) throw new Error("The disk is full.");
      },
    });
    const { accounts, store, rows, cleo } = await storeShop({
      routes: [
        Route.post("/end-others", async ({ auth }) => ({ ended: await auth.logins().endOthers() })),
        Route.post("/end-all", async ({ auth }) => ({ ended: await auth.logins().endAll() })),
        Route.post("/block", async ({ accounts: own }) => {
          return { ended: await own.endAccess((await store.findByEmail(CLEO.email))!) };
        }),
      ],
    });
    const visitor = await cleo();
    for (const path of ["/end-others", "/account/password", "/block", "/end-all"]) {
      const browser = path === "/end-all" ? await accounts.loggedIn(CLEO, NEW_PASSWORD) : visitor;
      const before = rows();
      isBroken = true;
      expect([path, (await browser.post(path, CHANGE)).status, rows()]).toEqual([path, 500, before]);
      isBroken = false;
      ended.length = 0;
      await browser.post(path, CHANGE);
      expect([path, ended]).toEqual([path, (rows() as { access_epoch: string }[]).map((row) => row.access_epoch)]);
      expect(rows()).not.toEqual(before);
    }
  });

  test("S51 whether an address is reserved is checked again once the account has been created", async () => {
    const { accounts, store } = await storeShop();
    const order: string[] = [];
    const create = store.create.bind(store);
    store.create = async (account) => {
      await nextTurn();
      const user = await create(account);
      order.push("created");
      return user;
    };
    accounts.database.onQuery(({ sql }) => {
      if (/^select .*email_changes/.test(sql)) order.push("checked");
    });
    await accounts.visitor().post("/register", CLEO);
    expect(order.slice(-2)).toEqual(["created", "checked"]);
  });

  test("the rest of a request that verifies the user's address sees it as verified", async () => {
    const verifying = async ({ accounts, auth, request }: HttpContext) => {
      const isVerified = async () => ((await auth.user()) as unknown as User).hasVerifiedEmail();
      const before = await isVerified();
      return { before, outcome: await accounts.verifyEmail(request.input("token")), after: await isVerified() };
    };
    const { accounts, cleo } = await storeShop({ routes: [Route.post("/verify", verifying)] });
    const visitor = await cleo();
    const token = pathIn((await accounts.mails())[0]!)
      .split("/")
      .at(-1);
    expect((await visitor.post("/verify", { token })).body).toEqual({
      before: false,
      outcome: "verified",
      after: true,
    });
  });

  test("the rest of a request that changes the user's address sees the new one", async () => {
    const changing = async ({ accounts, auth, request }: HttpContext) => {
      const address = async () => ((await auth.user()) as unknown as User).email;
      const before = await address();
      return { before, outcome: await accounts.verifyEmail(request.input("token")), after: await address() };
    };
    const { accounts, cleo } = await storeShop({ routes: [Route.post("/change", changing)] });
    const visitor = await cleo();
    await visitor.post("/account/email", { email: "cleo@example.org", password: PASSWORD });
    const mail = (await accounts.mails()).find(({ to }) => to === "cleo@example.org")!;
    const token = pathIn(mail).split("/").at(-1);
    const expected = { before: CLEO.email, outcome: "verified", after: "cleo@example.org" };
    expect((await visitor.post("/change", { token })).body).toEqual(expected);
  });

  test("S70 a user is deleted with all data that the framework keeps about them", async () => {
    const deleting = async ({ accounts, auth }: HttpContext) => {
      const user = (await auth.user())!;
      return { deleted: await accounts.delete(user), again: await accounts.delete(user) };
    };
    const { accounts, rows, cleo } = await storeShop({ routes: [Route.post("/delete", deleting)] });
    const visitor = await cleo();
    await visitor.post("/account/email", { email: "cleo@example.org", password: PASSWORD });
    const change = (await accounts.mails()).find(({ to }) => to === "cleo@example.org")!;
    await visitor.get(new URL(/https:\S+/.exec(change.text)![0]).pathname);
    await accounts.resetToken({ email: "cleo@example.org" });
    const kept = () => Promise.all(["logins", "password_resets", "email_changes"].map((name) => accounts.rows(name)));
    expect((await kept()).map((found) => found.length)).toEqual([1, 1, 1]);
    expect((await visitor.post("/delete")).body).toEqual({ deleted: true, again: false });
    expect([rows(), await kept()]).toEqual([[], [[], [], []]]);
  });

  test("S70 a user's links are deleted even if the address has changed since the user was read", async () => {
    const email = "cleo@example.org";
    const deleting = async ({ accounts }: HttpContext) => {
      const user = (await store.findByEmail(CLEO.email))!;
      await store.update(user, { email }, {});
      await resets.replace("web", email, "a token", { users: null, email, isKnown: true });
      return { deleted: await accounts.delete(user) };
    };
    const { accounts, store, cleo } = await storeShop({ routes: [Route.post("/delete", deleting)] });
    const { resets } = accounts.application.container.make("accounts");
    await cleo();
    expect((await accounts.visitor().post("/delete")).body).toEqual({ deleted: true });
    expect(await accounts.rows("password_resets")).toEqual([]);
  });

  test("S70 a user's logins are deleted only after the store has deleted the user and committed", async () => {
    const deleting = async ({ accounts, auth }: HttpContext) => ({
      deleted: await accounts.delete((await auth.user())!),
    });
    const { accounts, store, cleo } = await storeShop({ routes: [Route.post("/delete", deleting)] });
    const visitor = await cleo();
    const [remove, transaction] = [store.delete.bind(store), store.transaction.bind(store)];
    const steps: string[] = [];
    store.delete = async (user) => {
      await new Promise((resolve) => setImmediate(resolve));
      const isDeleted = await remove(user);
      steps.push("deleted");
      return isDeleted;
    };
    store.transaction = async (work) => {
      const result = await transaction(work);
      steps.push("committed");
      return result;
    };
    accounts.database.onQuery(({ sql }) => {
      if (sql.startsWith('delete from "logins"')) steps.push("logins");
    });
    expect((await visitor.post("/delete")).body).toEqual({ deleted: true });
    expect(steps).toEqual(["deleted", "committed", "logins"]);
  });

  test("S70 a model's user is deleted as with delete()", async () => {
    const deleting = async ({ accounts, auth }: HttpContext) => ({
      deleted: await accounts.delete((await auth.user())!),
    });
    const accounts = await testAccounts({ routes: [Route.post("/delete", deleting)] });
    const visitor = await accounts.loggedIn();
    accounts.forgetQueries();
    expect((await visitor.post("/delete")).body).toEqual({ deleted: true });
    expect([(await accounts.rows("users")).length, await accounts.rows("logins")]).toEqual([1, []]);
    expect(accounts.queries.filter((sql) => sql.startsWith('delete from "logins"'))).toHaveLength(1);
  });

  test("S71 only the remaining data of users that a query has deleted is pruned", async () => {
    const { accounts, store, cleo } = await storeShop();
    await cleo();
    const visitor = accounts.visitor();
    await visitor.post("/register", { ...CLEO, email: "dora@example.com" });
    for (const { email } of [CLEO, { email: "dora@example.com" }]) await accounts.resetToken({ email });
    expect(await accounts.application.prune()).toMatchObject({ logins: 0, "password resets": 0 });
    await store.delete((await store.findByEmail(CLEO.email))!);
    expect(await accounts.application.prune()).toMatchObject({ logins: 1, "password resets": 1 });
    expect([await isIn(visitor), (await accounts.rows("password_resets")).length]).toEqual([true, 1]);
  });

  test("S39 mails go to the stored address, even if the store finds a user by one that only looks like it", async () => {
    const { accounts, store, cleo } = await storeShop();
    const folded = (address: string) => address.normalize("NFD").replaceAll(/\p{M}/gu, "");
    const [findByEmail, existing] = [store.findByEmail.bind(store), store.existing.bind(store)];
    store.findByEmail = (email) => findByEmail(folded(email));
    store.existing = (attribute, values) => existing(attribute, values.map(String).map(folded));
    await cleo();
    const similar = { ...CLEO, email: "cléo@example.com" };
    for (const path of ["/change_password", "/register"]) {
      await accounts.mails();
      await accounts.visitor().post(path, similar);
      expect([path, (await accounts.mails()).map(({ to }) => to)]).toEqual([path, [CLEO.email]]);
    }
  });

  test("S58 all registrations get the same response, and the mail contains the result", async () => {
    const { accounts, rows } = await storeShop({ ACCOUNTS: { preventEnumeration: true } });
    const register = async (name: string, password: string) => {
      const answer = await accounts
        .visitor()
        .post("/register", { ...CLEO, name, password, password_confirmation: password });
      return answer.headers.get("location");
    };
    expect([await register("Eve", PASSWORD), (await accounts.mails()).length, rows().length]).toEqual(["/login", 1, 1]);
    await expect(accounts.loggedIn(CLEO)).rejects.toThrow("The login failed.");
    // Registered again before it is verified, so the first password becomes invalid.
    expect(await register("Cleo", NEW_PASSWORD)).toBe("/login");
    const [mail] = await accounts.mails();
    expect(rows()).toMatchObject([{ name: "Cleo", password: "!", verified_at: null }]);
    const token = new URL(/https:\S+/.exec(mail!.text)![0]).searchParams.get("token");
    const chosen = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await accounts.visitor().post("/password_reset", chosen);
    expect(rows()).toMatchObject([{ verified_at: expect.any(Number) }]);
    await accounts.loggedIn(CLEO, NEW_PASSWORD);
  });

  test("S58 an unfinished account is mailed another link without a change to the store if nothing was filled in", async () => {
    const { accounts, store, rows, cleo } = await storeShop({ ACCOUNTS: { preventEnumeration: true } });
    const dora = { email: "dora@example.com", passwordHash: await passwordHash(), accessEpoch: "-" };
    const user = await store.create({ ...dora, attributes: { name: "Dora" } });
    await store.update(user, { verifiedAt: new Date() }, {});
    for (let time = 0; time < 2; time++) await cleo();
    await accounts.mails();
    const [before, later] = [rows(), now() + 3_600_000];
    setClock(() => later);
    onTestFinished(() => setClock(null));
    const visitor = await accounts.loggedIn(dora);
    await visitor.post("/account/email", { email: CLEO.email, password: PASSWORD });
    expect((await accounts.mails()).map(({ to }) => to)).toContain(CLEO.email);
    expect(rows()).toEqual(before);
  });

  test.each<[string, (context: HttpContext, other: FullUser) => Promise<unknown>]>([
    ["logs in", ({ auth }, other) => auth.loginAs(other)],
    ["ends the access of", ({ accounts }, other) => accounts.endAccess(other)],
    ["deletes", ({ accounts }, other) => accounts.delete(other)],
  ])("S69 a guard %s only users of its store's class", async (_, work) => {
    const doing = async (context: HttpContext) => ({ done: await work(context, await FullUser.findOrFail(1)) });
    const { accounts, rows, cleo } = await storeShop({ routes: [Route.post("/do", doing)] });
    const visitor = await cleo();
    const before = [rows(), await accounts.rows("users")];
    expect(await accounts.visitor().post("/do", {}, { accept: "application/json" })).toMatchObject({
      status: 500,
      body: { code: "E_INVALID_MODEL" },
    });
    expect([rows(), await accounts.rows("users")]).toEqual(before);
    expect(await isIn(visitor)).toBe(true);
  });
});
