import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../test/support/free-port.ts";
import { outputOf } from "../../../test/support/own-process.ts";
import { emptyApplication } from "../../../test/support/redis-application.ts";
import { RedisServer } from "../../../test/support/redis-server.ts";
import { withProgram } from "../../../test/support/system-programs.ts";
import { throttleStoreSuite } from "../../testing/index.ts";
import { memoryStore, redisStore } from "../index.ts";
import type { Bucket } from "../limits/limit.ts";
import type { RedisStoreSettings } from "./redis-store.ts";
import type { ThrottleStore } from "./store.ts";

const LOGIN: Bucket = { name: "login", by: ["address"], attempts: 5, windowSeconds: 60 };

/** A time limit that is long enough for a busy machine. */
const PATIENT = { commandTimeoutMs: 60_000 };

let prefixes = 0;

async function storeWith(settings: RedisStoreSettings): Promise<ThrottleStore> {
  const { container } = await emptyApplication();
  return redisStore({ prefix: `test-${++prefixes}:`, ...settings })(container);
}

/** A store that is closed after the test. */
async function ownStore(settings: RedisStoreSettings): Promise<ThrottleStore> {
  const store = await storeWith(settings);
  onTestFinished(async () => store.close());
  return store;
}

withProgram("redis-server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.remove());

  describe("limits in Redis keep a store's promises", () => {
    const suite = throttleStoreSuite(() => storeWith({ url: server.url, whenAway: "refuse", ...PATIENT }), {
      elapse: (seconds) => server.elapse(seconds),
      unreachable: async () => storeWith({ url: `redis://127.0.0.1:${await freePort()}`, whenAway: "refuse" }),
    });
    for (const { title, run } of suite) test(title, run);
  });

  test("S33 four processes count together: of a hundred attempts, no two are the same", async () => {
    const modules = ["../../boot/index.ts", "./redis-store.ts"].map((path) =>
      JSON.stringify(new URL(path, import.meta.url).href),
    );
    const settings = { url: server.url, prefix: `test-${++prefixes}:`, ...PATIENT };
    const program = `
      import { createApplication } from ${modules[0]};
      import { redisStore } from ${modules[1]};
      const { container } = await createApplication({ routes: [], environment: { APP_ENV: "test" } });
      const store = redisStore(${JSON.stringify(settings)})(container);
      const counter = store.counter(${JSON.stringify(LOGIN)});
      const counts = await Promise.all(Array.from({ length: 25 }, () => counter.add("203.0.113.7", 1)));
      await store.close();
      console.log(JSON.stringify(counts.map(({ attempts }) => attempts)));`;
    const outputs = await Promise.all(Array.from({ length: 4 }, () => outputOf(program)));
    const counts = outputs.flatMap((output) => JSON.parse(output) as number[]).sort((a, b) => a - b);
    expect(counts).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  });

  test("an attempt is one round trip, and so is each of the others", async () => {
    const counter = (await ownStore({ url: server.url, ...PATIENT })).counter(LOGIN);
    const work = [
      () => counter.add("a", 1),
      () => counter.get("a"),
      () => counter.takeBack("a", 1),
      () => counter.delete("a"),
    ];
    // After this, the server knows the scripts.
    for (const one of work) await one();
    const sent = async () =>
      Number(/total_commands_processed:(\d+)/.exec(String(await server.run("INFO", "stats")))?.[1]);
    const scripted = async () => [await server.count("evalsha"), await server.count("eval"), await server.count("del")];
    const [before, script] = [await sent(), await scripted()];
    for (const one of work) await one();
    const after = await scripted();
    expect(after.map((count, index) => count - script[index]!)).toEqual([3, 0, 1]);
    // All commands: the scripts, the commands in scripts, and this test's own.
    expect((await sent()) - before).toBeLessThanOrEqual(4 + 6 + 8);
  });

  test("S33 a server that has forgotten its scripts still counts", async () => {
    const counter = (await ownStore({ url: server.url, whenAway: "refuse", ...PATIENT })).counter(LOGIN);
    await counter.add("a", 1);
    await server.run("SCRIPT", "FLUSH");
    expect((await counter.add("a", 1)).attempts).toBe(2);
  });

  test("S33 a window that is longer than possible starts over, and so does one without an end", async () => {
    const prefix = `test-${++prefixes}:`;
    const counter = (await ownStore({ url: server.url, whenAway: "refuse", prefix, ...PATIENT })).counter(LOGIN);
    await counter.add("a", 3);
    const [key] = (await server.run("KEYS", `${prefix}*`)) as string[];
    // This has the same effect as setting back the server's clock.
    await server.run("PEXPIRE", key!, 600_000);
    expect([await counter.get("a"), (await counter.add("a", 1)).attempts]).toEqual([null, 1]);
    await server.run("PERSIST", key!);
    await counter.takeBack("a", 1);
    expect([await counter.get("a"), await counter.add("a", 2)]).toEqual([null, { attempts: 2, resetInMs: 60_000 }]);
    expect(Number(await server.run("PTTL", key!))).toBeGreaterThan(0);
  });

  test("S33 a window continues if the server's clock was set back by less than a minute", async () => {
    const prefix = `test-${++prefixes}:`;
    const counter = (await ownStore({ url: server.url, whenAway: "refuse", prefix, ...PATIENT })).counter(LOGIN);
    await counter.add("a", 3);
    const [key] = (await server.run("KEYS", `${prefix}*`)) as string[];
    await server.run("PEXPIRE", key!, 60_000 + 59_000);
    expect(await counter.add("a", 1)).toEqual({ attempts: 4, resetInMs: 60_000 });
    await counter.takeBack("a", 2);
    expect(await counter.get("a")).toEqual({ attempts: 2, resetInMs: 60_000 });
  });

  test("S64 applications with different prefixes share no count, and no key reveals the counted value", async () => {
    const [one, other] = [
      await ownStore({ url: server.url, prefix: "one:", ...PATIENT }),
      await ownStore({ url: server.url, prefix: "two:", ...PATIENT }),
    ];
    await one.counter(LOGIN).add("203.0.113.7", 3);
    expect(await other.counter(LOGIN).get("203.0.113.7")).toBeNull();
    const keys = (await server.run("KEYS", "one:*")) as string[];
    expect(keys).toEqual([expect.stringMatching(/^one:limits:login:[\w-]{43}$/)]);
  });

  test("without a prefix, keys begin with the application's name", async () => {
    const { container } = await emptyApplication([], { config: { app: { APP: { name: "Café & Bar" } } } });
    const store = redisStore({ url: server.url, ...PATIENT })(container);
    onTestFinished(async () => store.close());
    await store.counter(LOGIN).add("a", 1);
    expect(await server.run("KEYS", "caf-bar:*")).toHaveLength(1);
  });

  test("the database of the URL is used", async () => {
    const counter = (await ownStore({ url: `${server.url}/3`, prefix: "third:", ...PATIENT })).counter(LOGIN);
    await counter.add("a", 1);
    expect([await server.run("KEYS", "third:*"), await server.run("INFO", "keyspace")]).toEqual([
      [],
      expect.stringContaining("db3:keys=1"),
    ]);
  });

  test("a value that can't be a store fails startup", async () => {
    const { container } = await emptyApplication();
    const create = (whenAway: unknown) => () =>
      redisStore({ url: server.url, whenAway } as RedisStoreSettings)(container);
    for (const wrong of ["memory", {}, () => null, null]) {
      expect(create(wrong)).toThrow(
        'config/throttle.ts: THROTTLE.store.whenAway: is not a store. Write databaseStore(), memoryStore() or "refuse"',
      );
    }
    expect(create(memoryStore())).not.toThrow();
  });

  test("a misspelled setting fails startup with a suggestion", async () => {
    const { container } = await emptyApplication();
    const create = () => redisStore({ url: server.url, whenAwya: "refuse" } as RedisStoreSettings)(container);
    expect(create).toThrow(/config\/throttle\.ts: THROTTLE\.store.*whenAway/);
  });
});
