// Ashlar beside its peers, in one run: `npm run bench`. The servers take turns on one processor, the load comes from
// another; each round measures every server once, and what is compared are the ratios within a round.
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { makeFixtures, SESSIONS, TOKENS, USERS } from "./fixtures.ts";
import { measureLatency } from "./latency.ts";
import { measureLogins } from "./logins.ts";
import { type Contestant, has } from "./processes.ts";
import { measureThroughput, type Scenario } from "./throughput.ts";

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 3);

const bare: Contestant = { name: "node:http", script: "bare.ts", port: 4101 };
const fastify: Contestant = { name: "Fastify", script: "fastify.ts", port: 4102 };
const ashlar: Contestant = { name: "Ashlar", script: "ashlar.ts", port: 4103 };
const ashlarWithDatabase: Contestant = { ...ashlar, port: 4104, environment: { AUTHENTICATES: "true" } };
const ashlarPages: Contestant = { name: "Ashlar", script: "ashlar-pages.ts", port: 4105 };

function version(packageName: string): string {
  const path = join(import.meta.dirname, "..", "node_modules", packageName, "package.json");
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}

if (!has("wrk")) {
  console.error("The benchmark needs wrk, the load generator: apt-get install wrk, or brew install wrk.");
  process.exit(1);
}

const { tokens, sessions } = await makeFixtures();
const bearers = tokens.map((token) => `Bearer ${token}`);
const count = (number: number): string => number.toLocaleString("en");

const scenarios: readonly Scenario[] = [
  {
    title: "JSON",
    path: "/json",
    credential: null,
    refusal: 0,
    contestants: [bare, fastify, ashlar],
    goal: 0.88,
  },
  {
    title: "Behind a JWT, one token",
    path: "/users/7",
    credential: { header: "Authorization", values: bearers.slice(0, 1) },
    refusal: 401,
    contestants: [bare, fastify, ashlar],
    goal: 0.88,
  },
  {
    title: `Behind a JWT, ${count(TOKENS)} tokens in turn`,
    path: "/users/7",
    credential: { header: "Authorization", values: bearers },
    refusal: 401,
    contestants: [bare, fastify, ashlar],
    goal: 0.88,
  },
  {
    title: `Behind a JWT checked against SQLite with ${count(USERS)} users`,
    path: "/accounts/7",
    credential: { header: "Authorization", values: bearers },
    refusal: 401,
    contestants: [bare, fastify, ashlarWithDatabase],
    goal: 0.75,
  },
  {
    title: `A page with its session and user out of SQLite, ${count(SESSIONS)} sessions in turn`,
    path: "/home",
    credential: { header: "Cookie", values: sessions.map((session) => `token=${session}`) },
    refusal: 302,
    contestants: [bare, fastify, ashlarPages],
    goal: 0.6,
  },
];

const wanted = process.argv.slice(2);
const sections: string[] = [];
for (const [index, scenario] of scenarios.entries()) {
  if (wanted.length > 0 && !wanted.includes(String(index + 1))) continue;
  const { lines, reached } = await measureThroughput(scenario, ROUNDS, SECONDS);
  console.log(lines.join("\n"));
  sections.push(...lines);
  if (!reached) process.exitCode = 1;
}
if (wanted.length === 0 || wanted.includes("logins")) {
  const { lines, reached } = await measureLogins([bare, ashlarPages], ROUNDS, SECONDS);
  console.log(lines.join("\n"));
  sections.push(...lines);
  if (!reached) process.exitCode = 1;
}
if (wanted.length === 0 || wanted.includes("latency")) {
  const { lines, reached } = await measureLatency([bare, fastify, ashlar], ROUNDS);
  console.log(lines.join("\n"));
  sections.push(...lines);
  if (!reached) process.exitCode = 1;
}

const introduction = [
  "# Results",
  "",
  "Written by `npm run bench`. Ratios are to bare `node:http` doing the same work by hand, within one round of one run:",
  `the servers take turns on one processor, the load (wrk, 64 connections) comes from another; ${ROUNDS} rounds of ${SECONDS} s after`,
  "a warm-up, medians. The ratio by CPU time compares what the servers' processes used for a request, and holds where",
  "the load generator or a neighbour on the machine sets the pace. Absolute numbers belong to the machine.",
  "",
  `${cpus()[0]?.model.trim() ?? "unknown processor"}, ${cpus().length} processors · Node.js ${process.versions.node} · Fastify ${version("fastify")} · @fastify/jwt ${version("@fastify/jwt")} · @fastify/cookie ${version("@fastify/cookie")} · ${new Date().toISOString().slice(0, 10)}`,
  "",
];
// A run of some of the scenarios is for looking; the file holds a whole one.
if (wanted.length === 0)
  await writeFile(join(import.meta.dirname, "RESULTS.md"), [...introduction, ...sections].join("\n"));
