import { describe, expect, onTestFinished, test } from "vitest";
import { redisSessions, type SessionStore } from "../../src/session/index.ts";
import { memoryStore, redisStore } from "../../src/throttle/index.ts";
import { emptyApplication, type LoggedLine, saidOfRedis } from "../support/redis-application.ts";
import { startSentinels } from "../support/redis-groups.ts";
import { RedisServer } from "../support/redis-server.ts";
import { withProgram } from "../support/system-programs.ts";
import { ToldSentinel } from "../support/told-sentinel.ts";

const LOGIN = { name: "login", by: ["address"], attempts: 5, windowSeconds: 3600 } as const;

/** Waits until a store has connected, which may take a while on a busy machine. */
async function isThere(store: SessionStore): Promise<void> {
  await expect.poll(() => Promise.resolve(store.check!()).then(String, String)).toBe("undefined");
}

withProgram("redis-server", () => {
  test.each(["has ended", "is frozen"])(
    "S33 after the server named by Sentinels %s, attempts count in the meantime, and then on its successor",
    async (how) => {
      const { url, servers, notice } = await startSentinels();
      const lines: LoggedLine[] = [];
      const { container } = await emptyApplication(lines);
      const settings = { url, prefix: "shop:", commandTimeoutMs: 5000 };
      const limits = redisStore({ ...settings, whenAway: memoryStore() })(container);
      const sessions = redisSessions(settings)(container);
      onTestFinished(async () => {
        await limits.close();
        await sessions.close();
      });
      const counter = limits.counter(LOGIN);
      const session = { createdAt: Date.now(), usedAt: Date.now(), contents: '{"d":{"name":"Ada"}}' };
      await isThere(sessions);
      expect((await counter.add("a", 2)).attempts).toBe(2);
      await sessions.create("one", session, Date.now() + 3_600_000);
      await servers[0].run("WAIT", 1, 0);
      if (how === "has ended") await servers[0].stop();
      else servers[0].freeze();
      // Before the Sentinels notice: a process that is late would otherwise count only on the replica.
      const counts = [(await counter.add("a", 1)).attempts];
      await notice(1000);
      await expect
        .poll(async () => {
          const { attempts } = await counter.add("a", 1);
          counts.push(attempts);
          return saidOfRedis(lines).at(-1);
        })
        .toBe("Redis can be used again. Limits count there.");
      // In memory from 1, and on the replica from where its master had been.
      const meanwhile = counts.findIndex((count, index) => index > 0 && count !== index + 1);
      expect(counts[0]).toBe(1);
      expect(counts.slice(meanwhile)).toEqual(counts.slice(meanwhile).map((_, index) => index + 3));
      await expect.poll(() => Promise.resolve(sessions.read("one")).catch(() => "away")).toEqual(session);
      expect(String(await servers[1].run("INFO", "replication"))).toContain("role:master");
      expect(await servers[1].run("KEYS", "*")).toHaveLength(2);
    },
  );

  test("a requested Sentinel switch is followed, and a name that they don't know is reported", async () => {
    const { url, servers, sentinels } = await startSentinels();
    const { container } = await emptyApplication();
    const others = redisSessions({ url: url.replace(/main$/, "other"), commandTimeoutMs: 2000 })(container);
    onTestFinished(async () => others.close());
    await expect(Promise.resolve(others.read("one"))).rejects.toMatchObject({
      code: "E_REDIS_UNAVAILABLE",
      message: "Redis can't be used: no Sentinel could name a server that can be reached.",
    });
    const sessions = redisSessions({ url, prefix: "shop:", commandTimeoutMs: 2000 })(container);
    onTestFinished(async () => sessions.close());
    const session = { createdAt: Date.now(), usedAt: Date.now(), contents: "{}" };
    await isThere(sessions);
    await sessions.create("one", session, Date.now() + 3_600_000);
    await servers[0].run("WAIT", 1, 0);
    await sentinels[0]!.run("SENTINEL", "FAILOVER", "main");
    await expect.poll(async () => String(await servers[0].run("INFO", "replication"))).toContain("role:slave");
    await expect
      .poll(() => Promise.resolve(sessions.update("one", session, Date.now() + 3_600_000)).catch(() => "away"))
      .toBe(true);
    await expect(sessions.check!()).resolves.toBeUndefined();
  });

  describe("scripted Sentinels", () => {
    /** Two servers that don't know each other, and Sentinels of which each names the first. */
    async function group(count: number) {
      const servers = [await RedisServer.start(), await RedisServer.start()] as const;
      const sentinels = await Promise.all(Array.from({ length: count }, () => ToldSentinel.start(servers[0].port)));
      onTestFinished(async () => {
        for (const one of sentinels) await one.end();
        for (const one of servers) await one.remove();
      });
      const { container } = await emptyApplication();
      const url = `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",")}/main`;
      const open = (settings: object = {}): SessionStore => {
        const store = redisSessions({ url, prefix: "shop:", commandTimeoutMs: 2000, ...settings })(container);
        onTestFinished(async () => store.close());
        return store;
      };
      return { servers, sentinels, open };
    }

    const session = { createdAt: 1, usedAt: 1, contents: "{}" };
    const inAnHour = () => Date.now() + 3_600_000;

    test("if one doesn't respond, the next is used", async () => {
      const { sentinels, open } = await group(2);
      sentinels[0]!.isSilent = true;
      await isThere(open());
      expect(sentinels.map(({ asked }) => asked.length > 0)).toEqual([true, true]);
    });

    test("the server that has taken over is used, although the former one still answers", async () => {
      const { servers, sentinels, open } = await group(1);
      const store = open();
      await isThere(store);
      await store.create("one", session, inAnHour());
      expect(await servers[0].run("KEYS", "*")).toEqual(["shop:sessions:one"]);
      await expect.poll(() => sentinels[0]!.subscribers).toBe(1);
      sentinels[0]!.switchTo(servers[1].port);
      await expect
        .poll(async () => {
          await Promise.resolve(store.create("two", session, inAnHour())).catch(() => {});
          return servers[1].run("KEYS", "*");
        })
        .toEqual(["shop:sessions:two"]);
      // And of that one's successor, too.
      await expect.poll(() => sentinels[0]!.subscribers).toBe(1);
    });

    test.each([
      [{ sentinelUsername: "watcher", sentinelPassword: "s3cret" }, "auth watcher s3cret"],
      [{ sentinelPassword: "s3cret" }, "auth s3cret"],
    ])("Sentinels that require %j get it, and the servers get something else", async (settings, command) => {
      const { servers, sentinels, open } = await group(1);
      await servers[0].run("ACL", "SETUSER", "shop", "on", ">p@ss", "~*", "+@all");
      await isThere(open({ username: "shop", password: "p@ss", ...settings }));
      const authentications = new Set(sentinels[0]!.asked.filter((one) => /^auth /i.test(one)));
      expect(authentications).toEqual(new Set([command]));
      expect(String(await servers[0].run("CLIENT", "LIST"))).toContain("user=shop");
    });

    test("Sentinels that require nothing get no user and no password", async () => {
      const { servers, sentinels, open } = await group(1);
      await servers[0].run("ACL", "SETUSER", "shop", "on", ">p@ss", "~*", "+@all");
      await isThere(open({ username: "shop", password: "p@ss" }));
      expect(sentinels[0]!.asked.join()).not.toMatch(/auth|shop|p@ss/i);
    });
  });
});
