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
    `${count(USERS / 1e6)} million users, of whom ${DAILY_SHARE * 100} % come on a day, with ${REQUESTS_PER_DAY} requests, a login every ${Math.round(1 / LOGINS_PER_DAY)} days and a mail every`,
    `${Math.round(1 / MAILS_PER_DAY)}, are at ${PEAK} times the mean ${count(requests)} session requests, ${count(logins)} logins and ${count(mails)} mails per second. With each core busy for`,
    `at most ${UTILIZATION * 100} % of the time:`,
    "",
    `| database | cores for the application | cores of the primary | on its disk | what a primary with ${CORES} cores carries |`,
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
    "On paper, from the costs that `npm run bench:growth` measured: CPU time per request with a million users and logins, in",
    "`bench/RESULTS.md` with the plans of the statements. They come from one machine with other work on it (load average",
    `${busy.toFixed(1)}), so take them as an order of magnitude. Disks, networks, replication,`,
    "writes such as a login's last use, and the application's own code come on top.",
    "",
    `A machine of ${CORES} cores, each busy for at most ${UTILIZATION * 100} % of the time, carries of one kind alone:`,
    "",
    ...capacity(servers, hashMs),
    "",
    ...needs(servers, hashMs),
    "",
    "- **The application** has no wall: processes and machines share nothing but the database (and Redis), and each further",
    `  one adds its whole capacity. A hash takes ${hashMs.toFixed(1)} ms of CPU time and no database, so logins cost machines, not the`,
    `  primary. An open connection takes ${kilobytes.toFixed(0)} KB.`,
    "- **The first wall is the primary's processors.** Each session request reads its login there, and each token check its",
    "  user unless `authenticates` is `false`; replicas take the application's reads, but not those of logins, which have to",
    "  be right at once after a logout. The last column is where that ends.",
    "- **The second is the memory of the primary.** The figures are from look-ups that find their pages in memory; an index that",
    "  has outgrown it costs a read from the disk for each.",
    "- **Connections to the database** come before both if each process opens a full pool: its size times the processes",
    "  must stay below what the server allows. PgBouncer, or smaller pools, move that.",
    "- **Beyond it**, API tokens with `authenticates: false` need no query at all; the outbox, limits and sessions can leave the",
    "  primary (another database, Redis); and the users themselves have to be divided among databases, by tenant or region, as",
    "  several applications. The framework doesn't divide one table of users among several primaries.",
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
