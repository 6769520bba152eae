// Ashlar beside its peers, in one run: `npm run bench`. The servers take turns on one processor, the load comes from
// another; each round measures every server once, and what is compared are the ratios within a round.
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { logInAsBrowsers } from "./browser-logins.ts";
import { LOGINS, makeFixtures, TOKENS, USERS } from "./fixtures.ts";
import { measureLatency } from "./latency.ts";
import { measureLogins, measureLoginsOnOneProcessor } from "./logins.ts";
import { type Contestant, has } from "./processes.ts";
import { type Credential, measureThroughput, type Scenario } from "./throughput.ts";

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

const { tokens } = await makeFixtures();
const bearers = tokens.map((token) => `Bearer ${token}`);
const wanted = process.argv.slice(2);
const wants = (name: string): boolean => wanted.length === 0 || wanted.includes(name);
const cookies = wants("5") ? await logInAsBrowsers(ashlarPages, LOGINS) : [];
const bearer = (values: readonly string[]): Credential => {
  return { header: "Authorization", values, broken: (value) => `${value.slice(0, -2)}xx` };
};
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
    credential: bearer(bearers.slice(0, 1)),
    refusal: 401,
    contestants: [bare, fastify, ashlar],
    goal: 0.88,
  },
  {
    title: `Behind a JWT, ${count(TOKENS)} tokens in turn`,
    path: "/users/7",
    credential: bearer(bearers),
    refusal: 401,
    contestants: [bare, fastify, ashlar],
    goal: 0.88,
  },
  {
    title: `Behind a JWT checked against SQLite with ${count(USERS)} users`,
    path: "/accounts/7",
    credential: bearer(bearers),
    refusal: 401,
    contestants: [bare, fastify, ashlarWithDatabase],
    goal: 0.75,
  },
  {
    title: `A page with its session and user out of SQLite, ${count(LOGINS)} browsers in turn, each with its three cookies`,
    path: "/home",
    credential: { header: "Cookie", values: cookies, broken: (value) => value.replace("token=", "token=x") },
    refusal: 302,
    contestants: [bare, fastify, ashlarPages],
    goal: 0.72,
  },
];

const sections: string[] = [];

function take({ lines, reached }: { readonly lines: readonly string[]; readonly reached: boolean }): void {
  console.log(lines.join("\n"));
  sections.push(...lines);
  if (!reached) process.exitCode = 1;
}

for (const [index, scenario] of scenarios.entries()) {
  if (!wants(String(index + 1))) continue;
  take(await measureThroughput(scenario, ROUNDS, SECONDS));
}
const others = {
  logins: () => measureLogins([bare, ashlarPages], ROUNDS, SECONDS),
  processor: () => measureLoginsOnOneProcessor([bare, fastify, ashlarPages], ROUNDS, SECONDS),
  latency: () => measureLatency([bare, fastify, ashlar], ROUNDS),
};
for (const [name, measure] of Object.entries(others)) {
  if (wants(name)) take(await measure());
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
