import { afterAll, beforeAll, expect, test } from "vitest";
import { Route } from "../../src/routing/index.ts";
import { redisSessions } from "../../src/session/index.ts";
import { redisStore } from "../../src/throttle/index.ts";
import { ADA, NEW_PASSWORD, PASSWORD, testAccounts } from "../support/account-application.ts";
import { inPairs } from "../support/in-pairs.ts";
import { RedisServer } from "../support/redis-server.ts";
import { isIn } from "../support/store-shop.ts";
import { withProgram } from "../support/system-programs.ts";

withProgram("redis-server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.remove());

  const settings = (prefix: string) => ({ url: server.url, prefix, commandTimeoutMs: 60_000 });

  const sessions = async (prefix: string) => (await server.run("KEYS", `${prefix}sessions:*`)) as string[];

  test("S18 a login gives the session in Redis a new key, and the old key is gone", async () => {
    const put = Route.get("/put", ({ session }) => {
      session.put("cart", [1, 2]);
      return "kept";
    });
    const config = { session: { SESSION: { store: redisSessions(settings("login:")) } } };
    const accounts = await testAccounts({ config, routes: [put] });
    const visitor = accounts.visitor();
    await visitor.get("/put");
    const before = await sessions("login:");
    await visitor.post("/login", { email: ADA.email, password: PASSWORD });
    const after = await sessions("login:");
    expect([before.length, after.length, before[0] === after[0]]).toEqual([1, 1, false]);
  });

  test("S22 a new password ends all other logins of a user whose sessions are in Redis", async () => {
    const accounts = await testAccounts({
      config: { session: { SESSION: { store: redisSessions(settings("all:")) } } },
    });
    const [here, there] = [await accounts.loggedIn(), await accounts.loggedIn()];
    const change = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await here.post("/account/password", change);
    expect([await isIn(here), await isIn(there)]).toEqual([true, false]);
  });

  test("S33 of many simultaneous guesses in two processes that share Redis, only the allowed number is tried", async () => {
    const buckets = [{ by: ["account", "address"], attempts: 5, windowSeconds: 3600 }];
    const throttle = { login: { account: "email", buckets } };
    const own = () => testAccounts({ throttle, store: redisStore({ ...settings("guesses:"), whenAway: "refuse" }) });
    const visitors = [(await own()).visitor(), (await own()).visitor()];
    // An account has two hashes at once in each process.
    const paired = [inPairs(), inPairs()];
    const guesses = Array.from({ length: 40 }, (_, index) => {
      const fields = { email: ADA.email, password: `a wrong password ${index}` };
      return paired[index % 2]!(() => visitors[index % 2]!.post("/login", fields));
    });
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status !== 429)).toHaveLength(5);
    expect(new Set(statuses).size).toBe(2);
  });
});
