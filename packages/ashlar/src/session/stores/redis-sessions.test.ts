import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../test/support/free-port.ts";
import { emptyApplication } from "../../../test/support/redis-application.ts";
import { RedisServer } from "../../../test/support/redis-server.ts";
import { withProgram } from "../../../test/support/system-programs.ts";
import { digest } from "../../security/index.ts";
import { now } from "../../support/index.ts";
import { sessionStoreSuite } from "../../testing/index.ts";
import { redisSessions } from "../index.ts";
import type { RedisSessionsSettings } from "./redis-sessions.ts";
import type { SessionStore } from "./session-store.ts";

const MINUTE_MS = 60_000;

/** A time limit that is long enough for a busy machine. */
const PATIENT = { commandTimeoutMs: 60_000 };

let prefixes = 0;

async function storeWith(settings: RedisSessionsSettings): Promise<SessionStore> {
  const { container } = await emptyApplication();
  return redisSessions({ prefix: `test-${++prefixes}:`, ...PATIENT, ...settings })(container);
}

withProgram("redis-server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.remove());

  describe("sessions in Redis keep a store's promises", () => {
    const suite = sessionStoreSuite(() => storeWith({ url: server.url }), {
      elapse: (seconds) => server.elapse(seconds),
      unreachable: async () => storeWith({ url: `redis://127.0.0.1:${await freePort()}` }),
    });
    for (const { title, run } of suite) test(title, run);
  });

  async function ownStore(prefix: string): Promise<SessionStore> {
    const store = await storeWith({ url: server.url, prefix });
    onTestFinished(async () => store.close());
    return store;
  }

  const session = () => ({ createdAt: now(), usedAt: now(), contents: '{"d":{"name":"Ada"}}' });

  test("S21 Redis deletes a session when it ends, counted from its last update, whatever the clock of the server", async () => {
    const store = await ownStore("expiry:");
    const left = async () => Math.round(Number(await server.run("PTTL", "expiry:sessions:one")) / MINUTE_MS);
    await store.create("one", session(), now() + 10 * MINUTE_MS);
    expect(await left()).toBe(10);
    await store.update("one", session(), now() + 30 * MINUTE_MS);
    expect(await left()).toBe(30);
    await store.replace!("another", "one", session(), now() + 20 * MINUTE_MS);
    expect(await left()).toBe(20);
    await server.elapse(21 * 60);
    expect(await server.run("EXISTS", "expiry:sessions:one")).toBe(0);
  });

  test("a session that has ended already is stored for no longer than a moment", async () => {
    const store = await ownStore("ended:");
    await store.create("one", session(), now() - MINUTE_MS);
    expect(Number(await server.run("PTTL", "ended:sessions:one"))).toBeLessThanOrEqual(1);
  });

  test("S18 a new id is one step: at no time do both sessions exist, or none", async () => {
    const store = await ownStore("steps:");
    await store.create("one", session(), now() + MINUTE_MS);
    const before = [await server.count("evalsha"), await server.count("eval")];
    await store.replace!("one", "two", session(), now() + MINUTE_MS);
    const after = [await server.count("evalsha"), await server.count("eval")];
    expect(after[0]! + after[1]! - before[0]! - before[1]!).toBe(1);
    expect(await server.run("KEYS", "steps:*")).toEqual(["steps:sessions:two"]);
  });

  test("S17 the server has the digest of the cookie's value", async () => {
    const store = await ownStore("digests:");
    await store.create(digest("the cookie"), session(), now() + MINUTE_MS);
    expect(await server.run("KEYS", "digests:*")).toEqual([`digests:sessions:${digest("the cookie")}`]);
  });

  test("an invalid value is not a session", async () => {
    const store = await ownStore("foreign:");
    await server.run("SET", "foreign:sessions:one", "something else");
    expect(await store.read("one")).toBeNull();
  });

  test("a value that can't be a store fails startup", async () => {
    for (const whenAway of ["cookie", {}, () => null, null]) {
      await expect(storeWith({ url: server.url, whenAway } as RedisSessionsSettings)).rejects.toThrow(
        'config/session.ts: SESSION.store.whenAway: is not a store. Write databaseSessions() or "refuse".',
      );
    }
  });
});
