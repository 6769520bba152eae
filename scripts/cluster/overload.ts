import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenLoop, Phase, PhaseResult } from "./open-loop.ts";
import { overloadedApplication, type ServerKind, startServer } from "./overload-servers.ts";
import { versionOf } from "./programs.ts";
import { startHaproxy, startNginx } from "./proxies.ts";
import type { Row, Scenario } from "./scenario.ts";
import { type Undo, undoing } from "./undoing.ts";

/** Two instances behind a proxy. */
interface Site {
  readonly port: number;
  /** Everything that the instances have logged so far. */
  readonly log: () => string;
}

/** How long an overload lasts before and during the measurement, and how long half of the capacity is sent afterwards. */
export interface Durations {
  readonly saturationMs: number;
  readonly onsetMs: number;
  readonly overloadMs: number;
  readonly calmMs: number;
}

/** A load. */
export interface LoadCase {
  readonly path: string;
  /** The load as a multiple of the capacity. */
  readonly factor: number;
  readonly connections: number;
  readonly keeps: boolean;
}

/** A load's results. */
export interface LoadResult {
  readonly capacity: number;
  readonly onset: PhaseResult;
  readonly overload: PhaseResult;
  readonly calm: PhaseResult;
}

const DATABASE_URL = "postgres://postgres@127.0.0.1:5432/postgres";

type ProxyKind = "nginx" | "haproxy";

/** Starts two instances on the first processor, and a proxy on the second one. */
export async function startSite(undo: Undo, kind: ServerKind, proxy: ProxyKind): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-overload-"));
  undo(() => rmSync(folder, { recursive: true, force: true }));
  const shop = join(folder, "shop");
  overloadedApplication(shop);
  const servers = await Promise.all([1, 2].map(() => startServer(kind, shop, { DATABASE_URL })));
  for (const server of servers) undo(() => server.stop());
  const ports = [servers[0]!.port, servers[1]!.port] as const;
  const start = proxy === "nginx" ? startNginx : startHaproxy;
  const { port, program } = await start(folder, ports);
  undo(() => program.stop());
  execFileSync(
    "sh",
    ["-c", `for one in ${program.child.pid} $(pgrep -P ${program.child.pid}); do taskset -apc 1 $one; done`],
    {
      stdio: "ignore",
    },
  );
  return { port, log: () => servers.map(({ logFile }) => readFileSync(logFile, "utf8")).join("") };
}

/** Sends requests from a process on the second processor. */
export function drive(options: OpenLoop): Promise<PhaseResult[]> {
  const script = join(import.meta.dirname, "open-loop.ts");
  const child = spawn("taskset", ["-c", "1", process.execPath, script, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (piece: Buffer) => (text += piece.toString()));
  return new Promise((resolve, reject) => {
    child.once("error", reject).once("close", (code) => {
      if (code === 0) resolve(JSON.parse(text) as PhaseResult[]);
      else reject(new Error(`The load ended with ${code}.`));
    });
  });
}

/** Few enough connections that no request waits long, and enough to keep two instances busy. */
const saturating = (path: string): number => (path.endsWith("/10") ? 8 : path === "/database" ? 80 : 24);

/** Measures how many requests per second a site can answer. */
export async function capacityOf({ port }: Site, path: string, ms: number): Promise<number> {
  const load = { port, path, connections: saturating(path), keeps: true };
  // The first phase compiles the code, and opens the connections to the database.
  const [, result] = await drive({
    ...load,
    phases: [
      { rate: null, ms },
      { rate: null, ms },
    ],
  });
  return (result!.answered / ms) * 1000;
}

/** Sends a multiple of a site's capacity, and half of the capacity afterwards. */
export async function overload(
  { port }: Site,
  { factor, ...load }: LoadCase,
  capacity: number,
  { onsetMs, overloadMs, calmMs }: Durations,
): Promise<LoadResult> {
  const rate = Math.ceil(capacity * factor);
  const phases: Phase[] = [
    { rate, ms: onsetMs },
    { rate, ms: overloadMs },
    { rate: Math.ceil(capacity / 2), ms: calmMs },
  ];
  const [onset, during, calm] = (await drive({ port, ...load, phases })) as [PhaseResult, PhaseResult, PhaseResult];
  return { capacity, onset, overload: during, calm };
}

const DURATIONS: Durations = { saturationMs: 2500, onsetMs: 1000, overloadMs: 4000, calmMs: 2000 };
const PATHS = ["/busy/0", "/busy/1", "/busy/10", "/database"];
const FACTORS = [0.5, 1.5, 3, 10];
const USUAL = { connections: 1000, keeps: true };

const ASHLAR: ServerKind = { framework: "ashlar", workers: 2 };
const SITES: readonly {
  readonly name: string;
  readonly kind: ServerKind;
  readonly proxy: ProxyKind;
  readonly cases: readonly LoadCase[];
}[] = [
  { name: "Ashlar, 2 workers", kind: ASHLAR, proxy: "nginx", cases: [...everything(), ...connections()] },
  { name: "Ashlar, 2 workers", kind: ASHLAR, proxy: "haproxy", cases: [...atThree(), ...connections()] },
  { name: "Ashlar", kind: { framework: "ashlar", workers: 0 }, proxy: "nginx", cases: everything() },
  { name: "Ashlar", kind: { framework: "ashlar", workers: 0 }, proxy: "haproxy", cases: atThree() },
  { name: "Fastify, 2 workers", kind: { framework: "fastify", workers: 2 }, proxy: "nginx", cases: atThree() },
  { name: "Fastify", kind: { framework: "fastify", workers: 0 }, proxy: "nginx", cases: everything() },
];

function everything(): LoadCase[] {
  return PATHS.flatMap((path) => FACTORS.map((factor) => ({ path, factor, ...USUAL })));
}

function atThree(): LoadCase[] {
  return PATHS.map((path) => ({ path, factor: 3, ...USUAL }));
}

function connections(): LoadCase[] {
  const load = { path: "/busy/1", factor: 3 };
  const kept = [10, 100, 5000].map((count) => ({ ...load, connections: count, keeps: true }));
  return [...kept, ...[1000, 5000].map((count) => ({ ...load, connections: count, keeps: false }))];
}

const LATE_MS = 2000;
const GOOD_SHARE = 0.9;
const P99_MS = 250;
const RECOVERY_MS = 1000;
/** The requests that must stay fast. */
const QUICK = ["/busy/0", "/busy/1"];

/** A load's results, and the goals that were missed. */
function rowOf(
  name: string,
  proxy: string,
  load: LoadCase,
  { capacity, onset, overload: during, calm }: LoadResult,
): Row {
  const perSecond = (count: number): number => Math.round((count / DURATIONS.overloadMs) * 1000);
  const all = [onset, during, calm];
  const late = all.reduce((sum, one) => sum + one.late + one.never, 0);
  const failed = all.reduce((sum, one) => sum + Object.values(one.failed).reduce((a, b) => a + b, 0), 0);
  const good = during.answered / ((capacity * DURATIONS.overloadMs) / 1000);
  const missed = [
    ...(late > 0 ? ["late"] : []),
    ...(failed > 0 ? ["failed"] : []),
    ...(good < GOOD_SHARE * Math.min(1, load.factor) ? ["good"] : []),
    ...(QUICK.includes(load.path) && load.factor === 3 && (during.p99 ?? 0) > P99_MS ? ["p99"] : []),
    ...(calm.recoveredMs > RECOVERY_MS ? ["recovery"] : []),
  ];
  return {
    server: name,
    proxy,
    request: load.path === "/database" ? "database" : `${load.path.slice("/busy/".length)} ms`,
    connections: `${load.connections.toLocaleString("en-US")} ${load.keeps ? "kept" : "new"}`,
    "can carry/s": Math.round(capacity),
    load: `${load.factor}×`,
    "sent/s": perSecond(during.sent),
    "not sent/s": perSecond(during.unsent),
    "answered/s": perSecond(during.answered),
    "of capacity": `${Math.round(good * 100)} %`,
    "refused/s": perSecond(during.refused),
    p50: during.p50 ?? "",
    p99: during.p99 ?? "",
    longest: Math.max(...all.map(({ max }) => max ?? 0)),
    "later than 2 s": late,
    failed,
    "recovery (ms)": calm.recoveredMs,
    missed: missed.join(", ") || "none",
  };
}

export const OVERLOAD: Scenario = {
  name: "overload",
  title: "More requests than can be answered",
  about:
    "Two instances behind a proxy as [Deployment](guides/deployment.md#several-instances) configures it, with " +
    "PostgreSQL. All of the instances' processes share one processor; the proxy and the load generator have " +
    "another one. Requests compute for 0, 1 or 10 ms, or send the database two statements of 10 ms each, in pools " +
    "of 10 connections. First, a few connections send requests as fast as they are answered, which shows the " +
    "capacity. Then requests are sent at a fixed rate, whether or not responses arrive, for " +
    `${(DURATIONS.onsetMs + DURATIONS.overloadMs) / 1000} s, of which the first is left out of the rates and ` +
    `percentiles, and then at half of the capacity for ${DURATIONS.calmMs / 1000} s. Times are in milliseconds ` +
    "from when a request was sent. The recovery time is from the end of the load until the last request was due " +
    "that was refused, failed, or got its response more than half a second after that. The goals: no response " +
    `takes more than ${LATE_MS / 1000} s, and none fails; at least ${GOOD_SHARE * 100} % of the capacity is ` +
    `answered; at three times the load, the 99th percentile of requests of 0 and 1 ms is at most ${P99_MS} ms; ` +
    `recovery takes at most ${RECOVERY_MS / 1000} s. Requests that find no free connection within two seconds, or ` +
    "before their load is over, are not sent. Fastify has `@fastify/under-pressure` with `maxEventLoopDelay: " +
    "1000`.",
  seconds: 2400,
  async run() {
    const rows: Row[] = [];
    for (const { name, kind, proxy, cases } of SITES) {
      await undoing(async (undo) => {
        const site = await startSite(undo, kind, proxy);
        const capacities = new Map<string, number>();
        for (const load of cases) {
          const { path } = load;
          if (!capacities.has(path)) capacities.set(path, await capacityOf(site, path, DURATIONS.saturationMs));
          rows.push(rowOf(name, proxy, load, await overload(site, load, capacities.get(path)!, DURATIONS)));
        }
      });
    }
    const versions = {
      "Node.js": process.versions.node,
      nginx: versionOf("nginx", "-v"),
      HAProxy: versionOf("haproxy", "-v"),
      PostgreSQL: versionOf("psql", "--version"),
    };
    return { versions, rows, failures: rows.length === 0 ? ["Nothing was measured."] : [] };
  },
};
