import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { Route } from "../../src/public/index.ts";
import { travel, travelBack } from "../../src/public/testing.ts";
import {
  AdminUser,
  FullUser,
  NEW_PASSWORD,
  PASSWORD,
  testAccounts,
  type Visitor,
} from "../support/account-application.ts";
import { MemoryLogins } from "../support/memory-logins.ts";

afterEach(() => travelBack());

describe("an application with its own login store", () => {
  async function shop() {
    class User extends FullUser {}
    const logins = new MemoryLogins();
    const accounts = await testAccounts({
      User,
      guards: { web: { model: User, logins }, admin: { driver: "web", model: AdminUser } },
    });
    return { accounts, logins };
  }

  const inside = async (visitor: Visitor) => (await visitor.get("/logins")).status === 200;

  test("closes it before the application has shut down", async () => {
    const { accounts, logins } = await shop();
    let isClosed = false;
    const close = async () => {
      await nextTurn();
      isClosed = true;
    };
    Object.assign(logins, { close });
    await accounts.application.shutdown();
    expect(isClosed).toBe(true);
  });

  test("logs in and out", async () => {
    const { accounts, logins } = await shop();
    const visitor = await accounts.loggedIn();
    expect([await inside(visitor), logins.logins.size, await accounts.rows("logins")]).toEqual([true, 1, []]);
    await visitor.post("/logout");
    expect([await inside(visitor), logins.logins.size]).toEqual([false, 0]);
  });

  test("lists the devices, and ends one or all others", async () => {
    const { accounts } = await shop();
    const [here, there, elsewhere] = [await accounts.loggedIn(), await accounts.loggedIn(), await accounts.loggedIn()];
    const items = String((await here.get("/logins")).body).split("<li>");
    const other = items.find((item) => item.includes('action="/logins/') && !item.includes("This device"));
    const [, id] = /action="\/logins\/([\w-]{36})"/.exec(String(other)) ?? [];
    expect((await here.post(`/logins/${id}`, { __method: "DELETE" })).status).toBe(302);
    const left = await Promise.all([there, elsewhere].map(inside));
    expect([await inside(here), left.filter((isIn) => isIn).length]).toEqual([true, 1]);
    await here.post("/logins", { __method: "DELETE" });
    expect(await Promise.all([here, there, elsewhere].map(inside))).toEqual([true, false, false]);
  });

  test("does not list a device whose login has ended, even if the store still returns it", async () => {
    const { accounts, logins } = await shop();
    const [here] = [await accounts.loggedIn(), await accounts.loggedIn()];
    const devices = async () => {
      const keys = String((await here.get("/logins")).body).matchAll(/action="\/logins\/([\w-]{36})"/g);
      return new Set([...keys].map(([, key]) => key));
    };
    const [, there] = [...logins.logins.values()];
    expect(await devices()).toContain(there!.id);
    logins.logins.set(there!.id, { ...there!, expiresAt: new Date(0) });
    expect([(await devices()).has(there!.id), logins.logins.size]).toEqual([false, 2]);
  });

  test("S22 a new password ends the other logins, and a reset all of them", async () => {
    const { accounts, logins } = await shop();
    const [here, there] = [await accounts.loggedIn(), await accounts.loggedIn()];
    const change = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await here.post("/account/password", change);
    expect([await inside(here), await inside(there), logins.logins.size]).toEqual([true, false, 1]);
    await accounts.mails();
    const token = await accounts.resetToken();
    const reset = { token, password: PASSWORD, password_confirmation: PASSWORD };
    expect((await accounts.visitor().post("/password_reset", reset)).status).toBe(302);
    expect([await inside(here), logins.logins.size]).toEqual([false, 0]);
  });

  test.each(["/end-others", "/end-all"])(
    "S22 %s ends nothing if another guard's store with the same users fails",
    async (path) => {
      class User extends FullUser {}
      const failing = new MemoryLogins();
      failing.endAll = async () => {
        await nextTurn();
        throw new Error("The store cannot be reached.");
      };
      const accounts = await testAccounts({
        User,
        guards: { kiosk: { driver: "web", model: User, logins: failing } },
        routes: [
          Route.post("/end-others", async ({ auth }) => ({ ended: await auth.logins().endOthers() })),
          Route.post("/end-all", async ({ auth }) => ({ ended: await auth.logins().endAll() })),
        ],
      });
      const visitors = [await accounts.loggedIn(), await accounts.loggedIn()];
      expect((await visitors[0]!.post(path)).status).toBe(500);
      expect(await Promise.all(visitors.map(inside))).toEqual([true, true]);
    },
  );

  test("S52 a login that is being started while access ends is not stored", async () => {
    const { accounts, logins } = await shop();
    const { start } = logins;
    logins.start = async (login, proof) => {
      await (await accounts.user()).endAccess();
      return start.call(logins, login, proof);
    };
    const visitor = accounts.visitor();
    await visitor.post("/login", { email: "ada@example.com", password: PASSWORD });
    expect([await inside(visitor), logins.logins.size]).toEqual([false, 0]);
  });

  test("closes the store once when it shuts down, after the last use was recorded", async () => {
    class User extends FullUser {}
    const done: string[] = [];
    class ClosableLogins extends MemoryLogins {
      override async touch(): Promise<void> {
        done.push("touch");
      }
      close(): void {
        done.push("close");
      }
    }
    const logins = new ClosableLogins();
    const web = { driver: "web", model: User, logins };
    const accounts = await testAccounts({ User, guards: { web, staff: web } });
    const visitor = await accounts.loggedIn();
    travel(10);
    await visitor.get("/home");
    await accounts.application.shutdown();
    expect(done).toEqual(["touch", "close"]);
  });

  test("records uses when it shuts down, and prunes expired logins", async () => {
    const { accounts, logins } = await shop();
    const visitor = await accounts.loggedIn();
    const [before] = [...logins.logins.values()];
    travel(10);
    await visitor.get("/home");
    await accounts.application.shutdown();
    const [after] = [...logins.logins.values()];
    expect(after!.lastUsedAt.getTime() - before!.lastUsedAt.getTime()).toBeGreaterThanOrEqual(10 * 60_000);
    const other = await shop();
    await other.accounts.loggedIn();
    travel(121);
    expect(await other.accounts.application.prune()).toMatchObject({ logins: 1 });
    expect(other.logins.logins.size).toBe(0);
  });
});
