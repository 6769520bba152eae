import { expect, onTestFinished, test } from "vitest";
import { createApplication, createLogger } from "../../src/boot/index.ts";
import { SessionProvider } from "../../src/session/index.ts";
import { redisSessions } from "../../src/session/stores/redis-sessions.ts";
import { ThrottleProvider } from "../../src/throttle/index.ts";
import { memoryStore } from "../../src/throttle/stores/memory-store.ts";
import { redisStore } from "../../src/throttle/stores/redis-store.ts";
import { freePort } from "../support/free-port.ts";
import { MemorySessions } from "../support/memory-sessions.ts";

/** `/ready`'s response to this machine while the application's Redis is down. */
async function ready(limits: object, sessions: object): Promise<unknown> {
  const url = `redis://127.0.0.1:${await freePort()}`;
  const application = await createApplication({
    providers: [SessionProvider, ThrottleProvider],
    config: {
      session: { SESSION: { store: redisSessions({ url, ...sessions }) } },
      throttle: { THROTTLE: { store: redisStore({ url, ...limits }) } },
    },
    environment: { APP_ENV: "test" },
    logger: createLogger({ name: "Shop", environment: "test", log: { level: "silent", requests: false } }),
  });
  onTestFinished(() => application.shutdown());
  const response = await application.fetch(new Request("http://localhost/ready"), { address: "127.0.0.1" });
  return [response.status, ((await response.json()) as { checks: unknown }).checks];
}

test.each([
  ["what needs it is refused", { whenAway: "refuse" }, { whenAway: "refuse" }],
  ["its work is done elsewhere", { whenAway: memoryStore() }, { whenAway: new MemorySessions() }],
])("Redis being down while %s is reported, and takes no instance out of service", async (_title, limits, sessions) => {
  const away = expect.stringMatching(/^(failed|timeout)$/);
  expect(await ready(limits, sessions)).toEqual([200, { session: away, throttle: away }]);
});
