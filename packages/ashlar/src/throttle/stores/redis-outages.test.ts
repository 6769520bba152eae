import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { buildApplication, ownDatabases } from "../../../test/support/build-application.ts";
import { freePort } from "../../../test/support/free-port.ts";
import { emptyApplication, type LoggedLine, loggerInto, saidOfRedis } from "../../../test/support/redis-application.ts";
import { RedisServer } from "../../../test/support/redis-server.ts";
import type { Contents } from "../../../test/support/services.ts";
import { withProgram } from "../../../test/support/system-programs.ts";
import { DatabaseProvider } from "../../database/index.ts";
import { Route } from "../../routing/index.ts";
import {
  createRateLimitsTable,
  databaseStore,
  memoryStore,
  redisStore,
  ThrottleMiddleware,
  ThrottleProvider,
} from "../index.ts";
import type { Bucket } from "../limits/limit.ts";
import type { RedisStoreSettings } from "./redis-store.ts";
import type { AttemptCounter } from "./store.ts";

/** On a busy machine, a command may take so long that it counts as an outage. */
const PATIENT = { commandTimeoutMs: 60_000 };
const LOGIN: Bucket = { name: "login", by: ["address"], attempts: 5, windowSeconds: 3600 };

withProgram("redis-server", () => {
  let server: RedisServer;
  let lines: LoggedLine[];
  beforeEach(async () => {
    // The driver is loaded on first use. Loading it here keeps it out of a command's time limit.
    await import("ioredis");
    server = await RedisServer.start();
    lines = [];
    return () => server.remove();
  });

  /** A counter that by default counts in memory while Redis is down. */
  async function counterWith(settings: Partial<RedisStoreSettings> = {}): Promise<AttemptCounter> {
    const { container } = await emptyApplication(lines);
    const store = redisStore({ url: server.url, whenAway: memoryStore(), ...PATIENT, ...settings })(container);
    onTestFinished(async () => store.close());
    return store.counter(LOGIN);
  }

  /** Counts under another key until the log says that Redis is back. */
  async function isBack(counter: AttemptCounter): Promise<void> {
    await expect
      .poll(async () => {
        await counter.add("someone else", 1);
        return saidOfRedis(lines).at(-1);
      })
      .toBe("Redis can be used again. Limits count there.");
  }

  const away = (reason: string) =>
    `Redis can't be used: ${reason}. Limits count in the memory of each process, so each allows all attempts, until ` +
    "it can be used again.";

  test("S33 after Redis has stopped, attempts count in the other store, which is logged once, and then in Redis again", async () => {
    const counter = await counterWith();
    expect((await counter.add("a", 3)).attempts).toBe(3);
    await server.stop();
    const counts = [];
    for (let attempt = 0; attempt < 8; attempt++) counts.push((await counter.add("a", 1)).attempts);
    expect(counts).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    await counter.takeBack("a", 2);
    expect((await counter.get("a"))?.attempts).toBe(6);
    await counter.delete("a");
    expect(await counter.get("a")).toBeNull();
    expect(saidOfRedis(lines)).toHaveLength(1);
    await server.start();
    await isBack(counter);
    expect(saidOfRedis(lines)).toHaveLength(2);
    expect((await counter.add("a", 1)).attempts).toBe(1);
    expect(await server.run("KEYS", "shop:*")).toHaveLength(0);
    expect(await server.run("KEYS", "ashlar:limits:login:*")).toHaveLength(2);
  });

  test("S33 a frozen Redis delays only the attempts already sent to it, and none is lost", async () => {
    const counter = await counterWith({ commandTimeoutMs: 2000 });
    await counter.add("a", 1);
    server.freeze();
    // If each of them waited for its time limit, this would take twenty minutes.
    for (let attempt = 1; attempt <= 600; attempt++) expect((await counter.add("a", 1)).attempts).toBe(attempt);
    expect(saidOfRedis(lines)).toEqual([away("no answer within 2000 ms")]);
    server.thaw();
    await isBack(counter);
    expect((await counter.get("a"))!.attempts).toBeGreaterThan(0);
  });

  test("S33 attempts count in the other store while Redis is a read-only replica", async () => {
    const counter = await counterWith();
    await counter.add("a", 3);
    await server.run("REPLICAOF", "127.0.0.1", await freePort());
    for (let attempt = 1; attempt <= 5; attempt++) expect((await counter.add("a", 1)).attempts).toBe(attempt);
    // The replica can be read, but doesn't have these attempts.
    expect((await counter.get("a"))?.attempts).toBe(5);
    expect(saidOfRedis(lines)).toHaveLength(1);
    expect(saidOfRedis(lines)[0]).toContain("the server is a read-only replica (READONLY)");
    await server.run("REPLICAOF", "NO", "ONE");
    await isBack(counter);
    expect((await counter.get("a"))?.attempts).toBe(3);
  });

  test("S33 attempts count in the other store while Redis is out of memory", async () => {
    const counter = await counterWith();
    await server.run("CONFIG", "SET", "maxmemory", "1");
    for (let attempt = 1; attempt <= 5; attempt++) expect((await counter.add("a", 1)).attempts).toBe(attempt);
    expect(saidOfRedis(lines)).toEqual([away("the server's memory is full (OOM)")]);
    await server.run("CONFIG", "SET", "maxmemory", "0");
    await isBack(counter);
  });

  test("S33 a Redis that starts later is used", async () => {
    await server.stop();
    const counter = await counterWith();
    expect((await counter.add("a", 1)).attempts).toBe(1);
    expect(saidOfRedis(lines)).toEqual([away(`ECONNREFUSED 127.0.0.1:${server.port}`)]);
    await server.start();
    await isBack(counter);
  });

  test("the message about a server that refuses the password contains no value and no password", async () => {
    await server.run("CONFIG", "SET", "requirepass", "right-password");
    const url = server.url.replace("//", "//:wrong-password@");
    const counter = await counterWith({ url, whenAway: "refuse" });
    const error = await counter.add("203.0.113.7", 1).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "E_REDIS_UNAVAILABLE",
      message: "Redis can't be used: the server refuses the user or the password (WRONGPASS).",
    });
    expect(JSON.stringify([error, Object.getOwnPropertyNames(error), lines])).not.toMatch(/-password|203\.0/);
    expect((error as Error).cause).toBeUndefined();
  });

  test.each([true, false])(
    "the other store is connected before the application serves, whether or not Redis is up (%s), and closed with it",
    async (isThere) => {
      if (!isThere) await server.stop();
      const { container } = await emptyApplication(lines);
      const other = { counter: vi.fn(), connect: vi.fn(async () => {}), close: vi.fn() };
      const store = redisStore({ url: server.url, whenAway: other, ...PATIENT })(container);
      await store.connect!();
      expect([other.connect.mock.calls.length, saidOfRedis(lines).length]).toEqual([1, isThere ? 0 : 1]);
      await store.close();
      expect(other.close).toHaveBeenCalledTimes(1);
    },
  );

  describe("in an application", () => {
    async function shop(settings: Partial<RedisStoreSettings>, hasTable = true) {
      let handled = 0;
      const contents: Contents = { name: "rate-limits", fill: ({ kysely }) => createRateLimitsTable(kysely) };
      const application = await buildApplication({
        routes: [Route.post("/login", () => String(++handled)).middleware("throttle:login")],
        middleware: { web: [], throttle: [ThrottleMiddleware] },
        providers: [DatabaseProvider, ThrottleProvider],
        databases: await ownDatabases(hasTable ? { contents } : {}),
        config: {
          throttle: {
            THROTTLE: {
              store: redisStore({ url: server.url, ...PATIENT, ...settings }),
              limits: { login: { buckets: [{ by: ["address"], attempts: 3, windowSeconds: 3600 }] } },
            },
          },
        },
        logger: loggerInto(lines),
      });
      const post = async (): Promise<Response> => {
        const request = new Request("http://localhost/login", {
          method: "POST",
          headers: { accept: "application/json" },
        });
        Object.defineProperty(request, "ip", { value: "203.0.113.7" });
        return application.fetch(request);
      };
      const statuses = async (attempts: number): Promise<number[]> => {
        const found: number[] = [];
        for (let attempt = 0; attempt < attempts; attempt++) found.push((await post()).status);
        return found;
      };
      const rows = async () => {
        const { kysely } = application.container.make("database");
        return (await kysely.selectFrom("rate_limits").select("attempts").execute()) as { attempts: number }[];
      };
      return { application, post, statuses, rows, handled: () => handled };
    }

    test("S33 without Redis, the limit holds in the database, which is the default", async () => {
      const { statuses, rows } = await shop({});
      expect(await statuses(5)).toEqual([200, 200, 200, 429, 429]);
      expect(await rows()).toEqual([]);
      await server.stop();
      expect(await statuses(5)).toEqual([200, 200, 200, 429, 429]);
      expect(await rows()).toEqual([{ attempts: 5 }]);
      expect(saidOfRedis(lines)).toHaveLength(1);
      expect(saidOfRedis(lines)[0]).toContain("Limits count in the database, or else in the memory of each process,");
    });

    test("S33 without Redis, the limit holds in memory if the database lacks the table", async () => {
      const { statuses } = await shop({}, false);
      await server.stop();
      expect(await statuses(5)).toEqual([200, 200, 200, 429, 429]);
    });

    test("counts from the meantime in the database are pruned", async () => {
      const { application, statuses, rows } = await shop({ whenAway: databaseStore() });
      await server.stop();
      await statuses(1);
      await application.container.make("database").kysely.updateTable("rate_limits").set({ resets_at: 1 }).execute();
      expect(await application.prune()).toEqual({ "counts of limits": 1 });
      expect(await rows()).toEqual([]);
    });

    test("S33 if there is no fallback store, limited requests are refused with 503, and none is let through", async () => {
      const { post, handled } = await shop({ whenAway: "refuse" });
      await server.stop();
      const refused = await post();
      expect([refused.status, refused.headers.has("retry-after"), handled()]).toEqual([503, true, 0]);
      expect(await refused.json()).toMatchObject({ status: 503, code: "E_REDIS_UNAVAILABLE" });
      await server.start();
      await expect.poll(async () => (await post()).status).toBe(200);
    });

    test("S33 if the other store fails too, the request is refused", async () => {
      const broken = () => Promise.reject(new Error("The disk is full."));
      const counter = { add: broken, takeBack: broken, get: broken, delete: broken };
      const { post, handled } = await shop({ whenAway: { counter: () => counter, close() {} } });
      await server.stop();
      expect([(await post()).status, handled()]).toEqual([500, 0]);
    });
  });
});
