// Calculates what a very large site would need from the measured costs: the arithmetic in docs/operations.md.
import { join } from "node:path";
import { hashSync } from "@node-rs/argon2";
import { PASSWORD } from "../fixtures.ts";
import type { Growth } from "./report.ts";
import { type Cost, type EngineGrowth, lowestCost, type Operation, SIZES } from "./users.ts";

/** The page with the arithmetic. */
export const OPERATIONS_PAGE: string = join(import.meta.dirname, "../../docs/operations.md");

const [BEGIN, END] = ["<!-- begin scale -->", "<!-- end scale -->"] as const;

/** The assumptions: a machine, and what users do. */
const CORES = 16;
const UTILIZATION = 0.6;
const DAILY_SHARE = 0.1;
const REQUESTS_PER_DAY = 50;
const LOGINS_PER_DAY = 1 / 14;
const MAILS_PER_DAY = 0.1;
const PEAK = 3;
const USERS = 100_000_000;

const SECONDS_PER_DAY = 86_400;
const HASHES = 10;

/** The CPU time of a password's hash, in milliseconds: the lowest of several measurements. */
export function measureHash(): number {
  const times = Array.from({ length: HASHES }, () => {
    const before = process.cpuUsage();
    hashSync(PASSWORD, { memoryCost: 19_456, timeCost: 2, parallelism: 1 });
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

const count = (number: number): string => {
  const digits = 10 ** Math.max(0, Math.floor(Math.log10(number)) - 1);
  return (Math.round(number / digits) * digits).toLocaleString("en");
};

/** The costs of one engine with the most users, in microseconds. */
function costsOf({ series, mail }: EngineGrowth): Readonly<Record<Operation | "mail", Cost>> {
  const cost = (operation: Operation): Cost => {
    const { costs } = series.find((one) => one.operation === operation && one.size === SIZES.at(-1))!;
    return { server: lowestCost(costs, "server"), database: lowestCost(costs, "database") };
  };
  return { session: cost("session"), token: cost("token"), lookup: cost("lookup"), mail };
}

const LABELS = {
  session: "session requests",
  token: "token checks",
  lookup: "login look-ups",
  mail: "mails through the outbox",
} as const;

/** How many requests per second a machine can handle if each takes the given number of microseconds. */
const perMachine = (microseconds: number): number => (CORES * UTILIZATION * 1e6) / microseconds;

function capacity(servers: readonly EngineGrowth[], hashMs: number): string[] {
  const titles = servers.flatMap(({ engine }) => [`application, on ${engine.name}`, `${engine.name}`]);
  const rows = (Object.keys(LABELS) as (keyof typeof LABELS)[]).map((key) => {
    const cells = servers.flatMap((growth) => {
      const { server, database } = costsOf(growth)[key];
      return [count(perMachine(server)), count(perMachine(database))];
    });
    return `| ${LABELS[key]} | ${cells.join(" | ")} |`;
  });
  const hashes = count(perMachine(hashMs * 1000));
  return [
    `| per second and machine | ${titles.join(" | ")} |`,
    `|---|${titles.map(() => "--:").join("|")}|`,
    ...rows,
    `| hashes of passwords | ${servers.flatMap(() => [hashes, ""]).join(" | ")} |`,
  ];
}

function needs(servers: readonly EngineGrowth[], hashMs: number): string[] {
  const active = USERS * DAILY_SHARE;
  const perSecond = (perDay: number): number => (active * perDay * PEAK) / SECONDS_PER_DAY;
  const [requests, logins, mails] = [REQUESTS_PER_DAY, LOGINS_PER_DAY, MAILS_PER_DAY].map(perSecond) as [
    number,
    number,
    number,
  ];
  const rows = servers.map((growth) => {
    const { session, lookup, mail } = costsOf(growth);
    const cores = (side: keyof Cost): number =>
      (requests * session[side] + logins * lookup[side] + mails * mail[side]) / 1e6;
    const application = cores("server") + (logins * hashMs) / 1000;
    const wall = (USERS * CORES * UTILIZATION) / cores("database");
    const cells = [
      Math.ceil(application / UTILIZATION),
      Math.ceil(cores("database") / UTILIZATION),
      `${count((USERS * growth.bytesPerUser) / 1e9)} GB`,
      `${count(wall / 1e6)} million users`,
    ];
    return `| ${growth.engine.name} | ${cells.join(" | ")} |`;
  });
  return [
    `${count(USERS / 1e6)} million users, of whom ${DAILY_SHARE * 100} % are active on a day, with ${REQUESTS_PER_DAY} requests, a login every ${Math.round(1 / LOGINS_PER_DAY)} days and a mail every`,
    `${Math.round(1 / MAILS_PER_DAY)}, make, at ${PEAK} times the average, ${count(requests)} session requests, ${count(logins)} logins and ${count(mails)} mails per second. With each core busy for`,
    `at most ${UTILIZATION * 100} % of the time:`,
    "",
    `| database | cores for the application | cores of the primary | on its disk | what a primary with ${CORES} cores can handle |`,
    "|---|--:|--:|--:|--:|",
    ...rows,
  ];
}

function scale({ users, connections, hashMs, busy }: Growth): string {
  const servers = users.filter(({ engine }) => engine.driver !== "sqlite");
  const most = connections.at(-1)!;
  const kilobytes = (most.memoryMb * 1024) / most.connections;
  const lines = [
    BEGIN,
    "",
    "## What internet scale would need",
    "",
    "An estimate from the costs that `npm run bench:growth` measured: CPU time per request with a million users and logins,",
    "which `bench/RESULTS.md` shows together with the query plans. They come from a single busy machine (load average",
    `${busy.toFixed(1)}), so this is an order of magnitude. Disks, networks, replication,`,
    "writes such as a login's last use, and the application's own code are extra.",
    "",
    `A machine of ${CORES} cores, each busy for at most ${UTILIZATION * 100} % of the time, can handle, of one kind alone:`,
    "",
    ...capacity(servers, hashMs),
    "",
    ...needs(servers, hashMs),
    "",
    "- **The application** scales without limit: processes and machines share only the database (and Redis), so each one adds",
    `  its full capacity. A hash takes ${hashMs.toFixed(1)} ms of CPU time and no database, so more logins need more machines, not a`,
    `  larger primary. An open connection takes ${kilobytes.toFixed(0)} KB.`,
    "- **The first limit is the primary's processors.** Each session request reads its login there, and each token check its",
    "  user unless `authenticates` is `false`. Replicas serve the application's reads, but not logins, which must be",
    "  up to date right after a logout. The last column shows where that limit is.",
    "- **The second is the primary's memory.** The figures are for lookups that find their pages in memory; once an index no",
    "  longer fits, each lookup reads from the disk.",
    "- **Database connections** run out before either if each process opens a full pool: its size times the number of processes",
    "  must stay below what the server allows. PgBouncer or smaller pools help.",
    "- **Beyond that**, API tokens with `authenticates: false` need no query at all; the outbox, limits and sessions can move",
    "  to another database or to Redis; and finally, the users have to be split among databases, by tenant or region, as",
    "  several applications. The framework can't split one table of users among several primaries.",
    "",
    END,
  ];
  return lines.join("\n");
}

/** The page with its arithmetic replaced by that of a run. */
export function withScale(page: string, growth: Growth): string {
  const part = scale(growth);
  const from = page.indexOf(BEGIN);
  if (from === -1) return `${page.trimEnd()}\n\n${part}\n`;
  return page.slice(0, from) + part + page.slice(page.indexOf(END) + END.length);
}
