// Measures growth in users and logins, routes, and connections. `npm run bench:growth` takes about ten minutes, and writes
// its section of RESULTS.md and the arithmetic in docs/operations.md. It needs wrk, and PostgreSQL and MariaDB servers on
// this machine, on which it creates and drops its own databases.
//
//   npm run bench:growth                     everything
//   npm run bench:growth -- sqlite routes    these parts; the others keep the results of their last run on this machine
//   npm run bench:growth -- tokens-sqlite    the checks of tokens of many()
//   npm run bench:growth -- report           no measurements: only the texts
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { join } from "node:path";
import { FOLDER } from "./fixtures.ts";
import { measureConnections } from "./growth/connections.ts";
import { ENGINES, withVersion } from "./growth/engines.ts";
import { type Growth, section, steep } from "./growth/report.ts";
import { measureRoutes } from "./growth/routes.ts";
import { measureHash, OPERATIONS_PAGE, withScale } from "./growth/scale.ts";
import { steepChecks, tokenSection } from "./growth/token-report.ts";
import { measureTokens, type TokenGrowth } from "./growth/tokens.ts";
import { type EngineGrowth, measureUsers } from "./growth/users.ts";
import { RESULTS, withSection } from "./results.ts";

/** The prefix of the names of parts about tokens of many(), which have their own section. */
const TOKENS = "tokens-";
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 1);

/** Each part's measurements. Ratios are only calculated within a part. */
type Measured = Record<string, unknown>;

const parts: Readonly<Record<string, () => unknown>> = {
  hash: measureHash,
  ...Object.fromEntries(
    Object.entries(ENGINES).map(([name, engine]) => {
      return [name, async () => measureUsers(await withVersion(engine), ROUNDS, SECONDS)];
    }),
  ),
  ...Object.fromEntries(
    Object.entries(ENGINES).map(([name, engine]) => {
      return [`${TOKENS}${name}`, async () => measureTokens(await withVersion(engine), ROUNDS, SECONDS)];
    }),
  ),
  routes: () => measureRoutes(ROUNDS, SECONDS),
  connections: () => measureConnections(ROUNDS, SECONDS),
};

const wanted = process.argv.slice(2);
const kept = join(FOLDER, "growth.json");
/** The latest measurements, including those of concurrent runs of other parts. */
const read = (): Measured => (existsSync(kept) ? (JSON.parse(readFileSync(kept, "utf8")) as Measured) : {});
await mkdir(FOLDER, { recursive: true });
for (const [name, measure] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const [load = 0] = loadavg();
  const begin = performance.now();
  const result = await measure();
  const measured = { ...read(), [name]: result } as Measured;
  // The highest load average before a part.
  measured.busy = Math.max(wanted.length > 0 || name !== "hash" ? Number(measured.busy ?? 0) : 0, load);
  console.log(`${name}: ${((performance.now() - begin) / 1000).toFixed(0)} s`);
  await writeFile(kept, JSON.stringify(measured));
}

const measured = read();
const checks = Object.keys(ENGINES).flatMap((name) => (measured[TOKENS + name] as TokenGrowth | undefined) ?? []);
if (checks.length > 0) {
  const lines = tokenSection(checks, SECONDS, Number(measured.busy));
  console.log(lines.join("\n"));
  await writeFile(RESULTS, withSection(readFileSync(RESULTS, "utf8"), lines));
  if (steepChecks(checks).length > 0) process.exitCode = 1;
}
// Parts about tokens don't affect the other texts.
if (wanted.length > 0 && wanted.every((name) => name.startsWith(TOKENS))) process.exit();

const missing = Object.keys(parts).filter((name) => !name.startsWith(TOKENS) && measured[name] === undefined);
const engines = Object.keys(ENGINES).filter((name) => !missing.includes(name));
if (engines.length === 0 || missing.some((name) => !(name in ENGINES))) {
  throw new Error(`Not measured yet: ${missing.join(", ")}`);
}
// A database whose server isn't running is left out of the texts.
if (missing.length > 0) console.error(`Without ${missing.join(", ")}`);
const growth: Growth = {
  users: engines.map((name) => measured[name] as EngineGrowth),
  routes: measured.routes as Growth["routes"],
  connections: measured.connections as Growth["connections"],
  hashMs: measured.hash as number,
  seconds: SECONDS,
  busy: measured.busy as number,
};
const lines = section(growth);
console.log(lines.join("\n"));
await writeFile(RESULTS, withSection(readFileSync(RESULTS, "utf8"), lines));
await writeFile(OPERATIONS_PAGE, withScale(readFileSync(OPERATIONS_PAGE, "utf8"), growth));
if (steep(growth.users).length > 0) process.exitCode = 1;
