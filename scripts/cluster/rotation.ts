import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { type OwnPostgres, startPostgres } from "../../packages/ashlar/test/support/own-postgres.ts";
import { RedisServer } from "../../packages/ashlar/test/support/redis-server.ts";
import { CROWD, type CrowdResult } from "./crowd.ts";
import { startFleet, versionsOfFleet } from "./fleet.ts";
import { DURABLE } from "./kills.ts";
import { versionOf } from "./programs.ts";
import type { Scenario } from "./scenario.ts";
import { type Edit, openShop } from "./shop.ts";
import { undoing } from "./undoing.ts";

/** How long users continue after each step, how often all passwords are replaced, and how many users there are. */
export interface RotationOptions {
  readonly afterMs: number;
  readonly rounds: number;
  readonly people: number;
}

/** What has happened. */
export interface RotationResult extends CrowdResult {
  /** What wasn't acknowledged, by what came instead. */
  readonly failed: Readonly<Record<string, number>>;
  /** Connections and mails that still used an old password just before it was disabled. */
  readonly left: number;
}

/** The PostgreSQL users that take turns. Both act as `shop`, which owns the tables. */
const LOGINS = ["shop_a", "shop_b"] as const;

/**
 * Replaces the passwords of PostgreSQL, Redis and the mail server, one after the other, while users use two instances: the
 * new password becomes valid alongside the old one, the instances are reloaded, and the old one is disabled.
 */
export function rotate({ afterMs, rounds, people }: RotationOptions): Promise<RotationResult> {
  return undoing(async (undo) => {
    const port = await freePort();
    const postgres = await startPostgres(port, DURABLE);
    undo(() => postgres.remove());
    await requirePasswords(postgres);
    const redis = await RedisServer.start();
    undo(() => redis.remove());
    await redis.run("ACL", "SETUSER", "shop", "on", ">redis-0", "~*", "+@all");
    const databaseUrl = (turn: number) => {
      return `postgres://${LOGINS[turn % 2]}:postgres-${turn}@127.0.0.1:${port}/shop`;
    };
    const redisUrl = (turn: number) => `redis://shop:redis-${turn}@127.0.0.1:${redis.port}`;
    await postgres.run(`alter role ${LOGINS[0]} login password 'postgres-0'`);
    const prepare = (edit: Edit) => {
      const imports = 'import { env } from "ashlar";\nimport { redisStore, type ThrottleSettings }';
      edit("config/throttle.ts", "import type { ThrottleSettings }", imports);
      const store = 'store: redisStore({ url: env("REDIS_URL"), whenAway: "refuse" })';
      edit("config/throttle.ts", "export const THROTTLE = {", `export const THROTTLE = { ${store},`);
    };
    const shop = await openShop("postgres", databaseUrl(0), prepare, {
      ...{ DATABASE_URL: databaseUrl(0), REDIS_URL: redisUrl(0), SMTP_USER: "shop", SMTP_PASSWORD: "smtp-0" },
    });
    undo(() => shop.remove());
    shop.mail.passwords.add("smtp-0");
    const { instances, crowd } = await startFleet(undo, shop, people);
    const reload = async (variables: Readonly<Record<string, string>>) => {
      shop.setVariables(variables);
      for (const one of instances) await one.reload();
    };
    let left = 0;
    for (let turn = 1; turn <= rounds; turn++) {
      const [former, next] = [LOGINS[(turn - 1) % 2]!, LOGINS[turn % 2]!];
      await crowd.fault(async () => {
        await postgres.run(`alter role ${next} login password 'postgres-${turn}'`);
        await reload({ DATABASE_URL: databaseUrl(turn) });
        const { rows } = await postgres.run(`select pid from pg_stat_activity where usename = '${former}'`);
        left += rows.length;
        await postgres.run(`alter role ${former} nologin`);
      }, afterMs);
      await crowd.fault(async () => {
        await redis.run("ACL", "SETUSER", "shop", `>redis-${turn}`);
        await reload({ REDIS_URL: redisUrl(turn) });
        await redis.run("ACL", "SETUSER", "shop", `<redis-${turn - 1}`);
      }, afterMs);
      await crowd.fault(async () => {
        shop.mail.passwords.add(`smtp-${turn}`);
        await reload({ SMTP_PASSWORD: `smtp-${turn}` });
        shop.mail.passwords.delete(`smtp-${turn - 1}`);
      }, afterMs);
    }
    left += shop.mail.refused + ((await redis.run("ACL", "LOG")) as unknown[]).length;
    return { ...(await crowd.finish()), failed: crowd.ledger.failed, left };
  });
}

/** Requires a password from every user except the test's superuser. */
async function requirePasswords(postgres: OwnPostgres): Promise<void> {
  const file = join(postgres.folder, "data/pg_hba.conf");
  const rules = ["host all postgres 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256"];
  writeFileSync(file, `${rules.join("\n")}\n${readFileSync(file, "utf8").replaceAll(/^(?=[^#\s])/gm, "# ")}`);
  await postgres.run("select pg_reload_conf()");
  await postgres.run("create role shop nologin");
  await postgres.run("create database shop owner shop");
  for (const login of LOGINS) {
    await postgres.run(`create role ${login} in role shop`);
    await postgres.run(`alter role ${login} set role = shop`);
  }
}

const BIG = { afterMs: 3000, rounds: 2, people: 4 };

export const ROTATION: Scenario = {
  name: "rotation",
  title: "Passwords replaced",
  about:
    "Two instances with two workers each, behind HAProxy, on PostgreSQL, with limits in Redis and a mail server " +
    "that requires a password. The passwords of all three are replaced, one after the other, again and again, as " +
    "in [the runbook](runbooks/rotating-passwords.md): the new one is made valid next to the old one, `.env` is " +
    `changed, the instances are reloaded (SIGHUP), and the old one is disabled. ${CROWD} Here, replacing a ` +
    "password counts as a fault.",
  seconds: 600,
  async run() {
    const { row, failures, failed, left } = await rotate(BIG);
    const count = Object.values(failed).reduce((sum, one) => sum + one, 0);
    const unanswered = count > 0 ? [`not acknowledged: ${JSON.stringify(failed)}`] : [];
    const versions = {
      ...versionsOfFleet(),
      PostgreSQL: versionOf("psql", "--version"),
      Redis: versionOf("redis-server", "--version"),
    };
    return { versions, rows: [{ ...row, "uses of former passwords": left }], failures: [...failures, ...unanswered] };
  },
};
