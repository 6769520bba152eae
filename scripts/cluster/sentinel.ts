import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { startPostgres } from "../../packages/ashlar/test/support/own-postgres.ts";
import { follows, startSentinels } from "../../packages/ashlar/test/support/redis-groups.ts";
import { CROWD, type CrowdResult, type Probing } from "./crowd.ts";
import { startFleet, versionsOfFleet } from "./fleet.ts";
import { until } from "./instances.ts";
import { DURABLE } from "./kills.ts";
import { isOk } from "./people.ts";
import { versionOf } from "./programs.ts";
import type { Scenario } from "./scenario.ts";
import { openShop } from "./shop.ts";
import { undoing } from "./undoing.ts";

/** How long users continue after each fault, and how many users there are. */
export interface SentinelOptions {
  readonly afterMs: number;
  readonly people: number;
}

/** How soon the Sentinels count a server as down. It is longer than a busy machine's delays. */
const GONE_AFTER_MS = 3000;

/** Opens a page with a form, whose session is in Redis. */
const opensForm: Probing = async (attempt, visitor) => (await attempt(() => visitor.page("/login"), isOk)) !== null;

/** Kills the server that has limits and sessions, and later freezes its successor. */
export function failOver({ afterMs, people }: SentinelOptions): Promise<CrowdResult> {
  return undoing(async (undo) => {
    const postgres = await startPostgres(await freePort(), DURABLE);
    undo(() => postgres.remove());
    const { url, servers, notice } = await startSentinels(undo);
    await notice(GONE_AFTER_MS);
    const [first, second] = servers;
    const shop = await openShop("postgres", postgres.url, (edit) => {
      const address = `{ url: ${JSON.stringify(url)} }`;
      edit("config/throttle.ts", "import type { ThrottleSettings }", "import { redisStore, type ThrottleSettings }");
      edit(
        "config/throttle.ts",
        "export const THROTTLE = {",
        `export const THROTTLE = { store: redisStore(${address}),`,
      );
      edit("config/session.ts", "import { cookieSessions,", "import { redisSessions,");
      edit("config/session.ts", "cookieSessions()", `redisSessions(${address})`);
    });
    undo(() => shop.remove());
    const { crowd } = await startFleet(undo, shop, people, opensForm);
    await crowd.fault(() => first.stop(), afterMs);
    await first.start();
    await until(
      () => follows(first),
      () => "The server that was killed doesn't follow the other one.",
    );
    await crowd.fault(() => second.freeze(), afterMs);
    second.thaw();
    return await crowd.finish();
  });
}

const BIG = { afterMs: 25_000, people: 6 };

export const SENTINEL: Scenario = {
  name: "sentinel",
  title: "Redis with Sentinel failing over",
  about:
    "Two instances with two workers each, on PostgreSQL, with limits (`redisStore`) and sessions " +
    "(`redisSessions`) in Redis: a server, a replica and three Sentinels, which act after three seconds; these " +
    "are part of the recovery time. The server is killed; once it is back as a replica of the new one, the new one " +
    "is frozen (SIGSTOP). Redis replicates asynchronously, so a session may be lost, and then its form is refused; " +
    `logins are in the database. ${CROWD} In this test, a page with a form and a session takes the place of the ` +
    "order.",
  seconds: 240,
  async run() {
    const { row, failures } = await failOver(BIG);
    const versions = {
      ...versionsOfFleet(),
      PostgreSQL: versionOf("psql", "--version"),
      Redis: versionOf("redis-server", "--version"),
    };
    return { versions, rows: [row], failures };
  },
};
