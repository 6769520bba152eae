import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { startPostgres, startStandby } from "../../packages/ashlar/test/support/own-postgres.ts";
import { CROWD, type CrowdResult } from "./crowd.ts";
import { startDatabaseProxy } from "./database-proxy.ts";
import { startFleet, versionsOfFleet } from "./fleet.ts";
import { until } from "./instances.ts";
import { DURABLE } from "./kills.ts";
import { versionOf } from "./programs.ts";
import type { Scenario } from "./scenario.ts";
import { openShop } from "./shop.ts";
import { undoing } from "./undoing.ts";

/**
 * How long users use the primary, how long it is down before the replica is promoted, and how long they continue after that.
 */
export interface PromotionOptions {
  readonly beforeMs: number;
  readonly awayMs: number;
  readonly afterMs: number;
  readonly people: number;
}

/** Kills a primary and promotes its synchronous replica, while users use an application that reaches both through a proxy. */
export function promote(options: PromotionOptions): Promise<CrowdResult> {
  return undoing(async (undo) => {
    const primary = await startPostgres(await freePort(), DURABLE);
    undo(() => primary.remove());
    const replica = await startStandby(primary, await freePort(), DURABLE);
    undo(() => replica.remove());
    await primary.run("alter system set synchronous_standby_names = '*'");
    await primary.run("select pg_reload_conf()");
    await until(
      async () => (await primary.run("select sync_state from pg_stat_replication")).rows[0]?.sync_state === "sync",
      () => "The replica doesn't replicate synchronously.",
    );
    const port = await startDatabaseProxy(undo, "option pgsql-check user postgres", [primary.port, replica.port]);
    const shop = await openShop("postgres", `postgres://postgres@127.0.0.1:${port}/postgres`, (edit) => {
      edit("config/database.ts", "poolSize: 10,", `poolSize: 10, read: [${JSON.stringify(replica.url)}],`);
      edit("app/kernel.ts", "httpMiddleware = [IpMiddleware]", "httpMiddleware = [IpMiddleware, ReadReplicas]");
      edit("app/kernel.ts", "import {", 'import { ReadReplicas } from "ashlar/database";\nimport {');
    });
    undo(() => shop.remove());
    const { crowd } = await startFleet(undo, shop, options.people);
    await pause(options.beforeMs);
    await crowd.fault(async () => {
      await primary.kill();
      await pause(options.awayMs);
      // Otherwise, the promoted server would wait for a synchronous replica.
      await replica.run("alter system set synchronous_standby_names = ''");
      await replica.run("select pg_promote()");
    }, options.afterMs);
    return await crowd.finish();
  });
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const BIG = { beforeMs: 15_000, awayMs: 3000, afterMs: 20_000, people: 6 };

export const PROMOTION: Scenario = {
  name: "promotion",
  title: "A PostgreSQL replica promoted",
  about:
    "Two instances with two workers each, on a PostgreSQL primary with a streaming replica, which also serves " +
    "reads (`read`, `ReadReplicas`). `DATABASE_URL` leads to an HAProxy that forwards connections to the " +
    "primary, or to the replica while the primary is down. The replica is synchronous " +
    "(`synchronous_standby_names`, with `synchronous_commit` on), so that nothing is lost; with an " +
    "asynchronous one, PostgreSQL itself loses whatever it hasn't sent. The primary is killed, and the replica is " +
    `promoted ${BIG.awayMs / 1000} seconds later, which are part of the recovery time. The old primary must not ` +
    `come back by itself; a cluster manager such as Patroni makes sure of that, and promotes the replica. ${CROWD}`,
  seconds: 240,
  async run() {
    const { row, failures } = await promote(BIG);
    const versions = { ...versionsOfFleet(), PostgreSQL: versionOf("psql", "--version") };
    return { versions, rows: [row], failures };
  },
};
