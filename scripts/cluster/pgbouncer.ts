import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { startPostgres } from "../../packages/ashlar/test/support/own-postgres.ts";
import { type RunningBouncer, startPgbouncer } from "../../packages/ashlar/test/support/pgbouncer.ts";
import { CROWD, type CrowdResult } from "./crowd.ts";
import { startFleet, versionsOfFleet } from "./fleet.ts";
import { DURABLE } from "./kills.ts";
import { versionOf } from "./programs.ts";
import type { Scenario } from "./scenario.ts";
import { openShop } from "./shop.ts";
import { undoing } from "./undoing.ts";

/** How often PgBouncer is killed, how long it stays down, and how many users there are. */
export interface PgbouncerOptions {
  readonly restarts: number;
  readonly awayMs: number;
  readonly everyMs: number;
  readonly people: number;
}

const POOL_SIZE = 10;

/** Kills PgBouncer and starts it again after a while, while users use an application behind it. */
export function restartPgbouncer(options: PgbouncerOptions): Promise<CrowdResult> {
  return undoing(async (undo) => {
    const postgres = await startPostgres(await freePort(), DURABLE);
    undo(() => postgres.remove());
    const server = { host: "127.0.0.1", port: postgres.port, user: "postgres" };
    const port = await freePort();
    let pooler: RunningBouncer | null = await startPgbouncer(POOL_SIZE, server, port);
    undo(() => pooler?.end());
    const shop = await openShop("postgres", `postgres://postgres@127.0.0.1:${port}/postgres`, (edit) => {
      edit("config/database.ts", "poolSize: 10,", "transactionPooling: true,");
    });
    undo(() => shop.remove());
    const { crowd } = await startFleet(undo, shop, options.people);
    for (let count = 0; count < options.restarts; count++) {
      await crowd.fault(async () => {
        await pooler?.end();
        pooler = null;
        await new Promise((resolve) => setTimeout(resolve, options.awayMs));
        pooler = await startPgbouncer(POOL_SIZE, server, port);
      }, options.everyMs);
    }
    return await crowd.finish();
  });
}

const BIG = { restarts: 5, awayMs: 2000, everyMs: 8000, people: 6 };

export const PGBOUNCER: Scenario = {
  name: "pgbouncer",
  title: "PgBouncer restarted",
  about:
    "Two instances with two workers each, on PostgreSQL behind PgBouncer in transaction mode " +
    `(\`transactionPooling: true\`, ${POOL_SIZE} server connections). PgBouncer is killed ${BIG.restarts} times, ` +
    `and started again after ${BIG.awayMs / 1000} seconds, which are part of the recovery time. ${CROWD}`,
  seconds: 240,
  async run() {
    const { row, failures } = await restartPgbouncer(BIG);
    const versions = {
      ...versionsOfFleet(),
      PostgreSQL: versionOf("psql", "--version"),
      PgBouncer: versionOf("pgbouncer", "-V"),
    };
    return { versions, rows: [row], failures };
  },
};
