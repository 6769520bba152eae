// Redis metrics, on a separate server.
import { expect, onTestFinished, test } from "vitest";
import { RedisServer } from "../../test/support/redis-server.ts";
import { withProgram } from "../../test/support/system-programs.ts";
import { createApplication } from "../boot/index.ts";
import { Route } from "../routing/index.ts";
import { generateSecret } from "../security/index.ts";
import { SessionProvider } from "../session/index.ts";
import { redisSessions } from "../session/stores/redis-sessions.ts";
import { ThrottleProvider } from "../throttle/index.ts";
import { memoryStore } from "../throttle/stores/memory-store.ts";
import { redisStore } from "../throttle/stores/redis-store.ts";
import { MetricsProvider } from "./metrics-provider.ts";

const TOKEN = generateSecret();

/** @param commandTimeoutMs by default, long enough for a busy machine */
async function shop(server: RedisServer, sessions: object = {}, commandTimeoutMs = 60_000) {
  const settings = { url: server.url, commandTimeoutMs };
  const application = await createApplication({
    providers: [SessionProvider, ThrottleProvider, MetricsProvider],
    environment: { APP_ENV: "test", APP_KEY: generateSecret() },
    routes: [
      Route.get("/", async (context) => {
        await context.throttle.hit(context, "visits" as never);
        return "fine";
      }),
    ],
    config: {
      app: { APP: { log: { level: "silent" } } },
      session: { SESSION: { store: redisSessions({ ...settings, ...sessions }) } },
      throttle: {
        THROTTLE: {
          store: redisStore({ ...settings, whenAway: memoryStore() }),
          limits: { visits: { buckets: [{ by: ["address"], attempts: 1000, windowSeconds: 3600 }] } },
        },
      },
      metrics: { METRICS: { path: "/metrics", token: TOKEN } },
    },
  });
  onTestFinished(() => application.shutdown());
  return {
    visit: async () => (await application.fetch(new Request("http://localhost/"), { address: "127.0.0.1" })).status,
    /** The values of the Redis metrics, without buckets, by name and labels. */
    async scrape(): Promise<Record<string, number>> {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const response = await application.fetch(new Request("http://localhost/metrics", { headers }));
      const text = await response.text();
      expect([response.status, text]).toEqual([200, expect.stringContaining("ashlar_uptime_seconds ")]);
      const lines = text.split("\n").filter((line) => /^ashlar_redis_(?!.*_(?:bucket|sum)\{)/.test(line));
      return Object.fromEntries(lines.map((line) => [line.split(" ")[0]!.slice(13), Number(line.split(" ")[1])]));
    },
  };
}

withProgram("redis-server", () => {
  async function started(): Promise<RedisServer> {
    const server = await RedisServer.start();
    onTestFinished(() => server.remove());
    return server;
  }

  test("commands of stores that share a connection are counted together, with their durations", async () => {
    const { visit, scrape } = await shop(await started());
    const before = await scrape();
    const own = '{connection="session,throttle"}';
    expect(Object.keys(before)).toEqual([
      `up${own}`,
      `reconnects_total${own}`,
      `command_failures_total${own}`,
      `command_duration_seconds_count${own}`,
    ]);
    for (let count = 1; count <= 3; count++) expect(await visit()).toBe(200);
    const commands = `command_duration_seconds_count${own}`;
    expect(await scrape()).toEqual({ ...before, [`up${own}`]: 1, [commands]: before[commands]! + 3 });
  });

  test("each connection has its own metrics, by what uses it", async () => {
    const server = await started();
    const { scrape } = await shop(server, { prefix: "other:" });
    expect(Object.keys(await scrape()).filter((name) => name.startsWith("up"))).toEqual([
      'up{connection="session"}',
      'up{connection="throttle"}',
    ]);
  });

  test("a stopped server is shown as down, with the failed commands, and a new connection as a separate one", async () => {
    const server = await started();
    const { visit, scrape } = await shop(server);
    const own = '{connection="session,throttle"}';
    await server.stop();
    await expect.poll(async () => (await scrape())[`up${own}`]).toBe(0);
    const before = await scrape();
    // While Redis is down, attempts are counted elsewhere, so the requests succeed.
    expect([await visit(), await visit()]).toEqual([200, 200]);
    const failures = `command_failures_total${own}`;
    expect(await scrape()).toEqual({ ...before, [failures]: before[failures]! + 2 });
    expect(before[`reconnects_total${own}`]).toBe(0);
    await server.start();
    await expect.poll(async () => (await scrape())[`up${own}`]).toBe(1);
    expect((await scrape())[`reconnects_total${own}`]).toBe(1);
  });

  test("a server that no longer responds is shown as down", async () => {
    const server = await started();
    const { visit, scrape } = await shop(server, {}, 1000);
    server.freeze();
    await visit();
    await expect.poll(async () => (await scrape())['up{connection="session,throttle"}']).toBe(0);
    server.thaw();
    await expect.poll(async () => (await scrape())['up{connection="session,throttle"}']).toBe(1);
  });
});
