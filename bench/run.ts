// Ashlar and similar frameworks in one run: `npm run bench`. The servers take turns on one processor, the load comes from
// another. Each round measures every server once, and only ratios within a round are compared.
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { logInAsBrowsers } from "./browser-logins.ts";
import { LOGINS, makeFixtures, TOKENS, USERS } from "./fixtures.ts";
import { HEADING as GROWTH } from "./growth/report.ts";
import { TOKENS_HEADING as TOKEN_GROWTH } from "./growth/token-report.ts";
import { measureLatency } from "./latency.ts";
import { measureLogins, measureLoginsOnOneProcessor } from "./logins.ts";
import { measureOverload } from "./overload.ts";
import { type Contestant, has } from "./processes.ts";
import { RESULTS, sectionOf, withSection } from "./results.ts";
import { measureStart } from "./start.ts";
import { type Credential, measureThroughput, type Scenario } from "./throughput.ts";

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 3);

const bare: Contestant = { name: "node:http", script: "bare.ts", port: 4101 };
const least: Contestant = { ...bare, name: "node:http, least headers", port: 4109, environment: { LEAST: "true" } };
const hono: Contestant = { name: "Hono", script: "hono.ts", port: 4110 };
const fastify: Contestant = { name: "Fastify", script: "fastify.ts", port: 4102 };
const ashlar: Contestant = { name: "Ashlar", script: "ashlar.ts", port: 4103 };
const ashlarWithDatabase: Contestant = { ...ashlar, port: 4104, environment: { AUTHENTICATES: "true" } };
const ashlarWithMany: Contestant = {
  ...ashlar,
  port: 4106,
  environment: { AUTHENTICATES: "true", DRIVER: "many" },
};
const ashlarSigned: Contestant = { ...ashlar, port: 4107, environment: { DRIVER: "signed" } };
const jose: Contestant = { name: "node:http with jose", script: "jose.ts", port: 4108 };
const ashlarPages: Contestant = { name: "Ashlar", script: "ashlar-pages.ts", port: 4105 };

/** Servers that refuse requests while their event loop is later than this, in milliseconds. */
const LIMITS_MS = [100, 500, 1000];
const shedding: readonly Contestant[] = [
  fastify,
  ...LIMITS_MS.map((ms) => ({
    ...fastify,
    name: `Fastify, under-pressure with maxEventLoopDelay ${ms}`,
    environment: { MAX_LOOP_DELAY: String(ms) },
  })),
  { ...ashlar, name: "Ashlar, no limit" },
  ...LIMITS_MS.map((ms) => ({
    ...ashlar,
    name: `Ashlar, maxQueueMs ${ms}`,
    environment: { MAX_LOOP_DELAY: String(ms) },
  })),
];

function version(packageName: string): string {
  const path = join(import.meta.dirname, "..", "node_modules", packageName, "package.json");
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}

if (!has("wrk")) {
  console.error("The benchmark needs wrk, the load generator: apt-get install wrk, or brew install wrk.");
  process.exit(1);
}

const { tokens, accessTokens, signedTokens } = await makeFixtures();
const asBearers = (list: readonly string[]): string[] => list.map((token) => `Bearer ${token}`);
const bearers = asBearers(tokens);
const given = process.argv.slice(2);
/** Several tokens per user, and a signature that others can verify. */
const TOKEN_SCENARIOS = ["6", "7"];
const wanted = given.join() === "tokens" ? TOKEN_SCENARIOS : given;
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
    contestants: [bare, least, fastify, hono, ashlar],
    goal: 0.88,
  },
  {
    title: "Behind a JWT, one token",
    path: "/users/7",
    credential: bearer(bearers.slice(0, 1)),
    refusal: 401,
    contestants: [bare, least, fastify, hono, ashlar],
    goal: 0.88,
  },
  {
    title: `Behind a JWT, ${count(TOKENS)} tokens in turn`,
    path: "/users/7",
    credential: bearer(bearers),
    refusal: 401,
    contestants: [bare, least, fastify, hono, ashlar],
    goal: 0.88,
  },
  {
    title: `Behind a JWT checked against SQLite with ${count(USERS)} users`,
    path: "/accounts/7",
    credential: bearer(bearers),
    refusal: 401,
    contestants: [bare, least, fastify, hono, ashlarWithDatabase],
    goal: 0.75,
  },
  {
    title: `A page with its session and user from SQLite, ${count(LOGINS)} browsers in turn, each with its three cookies`,
    path: "/home",
    credential: { header: "Cookie", values: cookies, broken: (value) => value.replace("token=", "token=x") },
    refusal: 302,
    contestants: [bare, least, fastify, hono, ashlarPages],
    goal: 0.72,
  },
  {
    title: `Behind a JWT checked against its row in SQLite, with several tokens per user: ${count(TOKENS)} in turn`,
    path: "/devices/7",
    credential: bearer(asBearers(accessTokens)),
    refusal: 401,
    contestants: [bare, least, fastify, hono, ashlarWithMany],
    goal: 0.75,
  },
  {
    title: `Behind a JWT with EdDSA, ${count(TOKENS)} tokens in turn`,
    path: "/signed/7",
    credential: bearer(asBearers(signedTokens)),
    refusal: 401,
    contestants: [bare, least, fastify, hono, jose, ashlarSigned],
    goal: 0.88,
  },
];

const busy = loadavg();
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
  overload: () => measureOverload(shedding, Math.min(ROUNDS, 3)),
  start: () => measureStart(),
};
for (const [name, measure] of Object.entries(others)) {
  if (wants(name)) take(await measure());
}

const introduction = [
  "# Results",
  "",
  "Generated by `npm run bench`. Ratios are relative to bare `node:http` doing the same work by hand, within one round:",
  `the servers take turns on one processor, the load (wrk, 64 connections) comes from another; ${ROUNDS} rounds of ${SECONDS} s after`,
  "a warm-up, medians. The ratio by CPU time compares the CPU time per request of the server processes, and is valid even if",
  "the load generator or other work on the machine is the bottleneck. Absolute numbers depend on the machine. The first",
  "`node:http` sends the headers that Ashlar sends, the second one the least; Fastify and Hono are set up as their",
  "documentation says, Fastify with response schemas.",
  "",
  `${cpus()[0]?.model.trim() ?? "unknown processor"}, ${cpus().length} processors · Node.js ${process.versions.node} · Fastify ${version("fastify")} · @fastify/jwt ${version("@fastify/jwt")} · @fastify/cookie ${version("@fastify/cookie")} · Hono ${version("hono")} · ${new Date().toISOString().slice(0, 10)}`,
  "",
];
// A complete run replaces the file. `npm run bench -- overload` and `npm run bench -- tokens`, for which the numbers of the
// others don't matter, replace their own sections.
if (wanted.length === 0) {
  // What growth costs has runs of its own.
  const before = readFileSync(RESULTS, "utf8");
  const growth = [GROWTH, TOKEN_GROWTH].map((heading) => sectionOf(before, heading));
  await writeFile(RESULTS, [...introduction, ...sections, ...growth].join("\n"));
} else if (given.join() === "overload" || given.join() === "tokens") {
  const [load = 0] = busy;
  const others =
    given.join() === "overload"
      ? `@fastify/under-pressure ${version("@fastify/under-pressure")}`
      : `jose ${version("jose")}`;
  const measured = [
    `Measured on its own on ${new Date().toISOString().slice(0, 10)}, with ${others}: ${ROUNDS} rounds of ${SECONDS} s. The load average of the`,
    `machine was ${load.toFixed(1)} before the run: with more than a tenth of its ${cpus().length} processors busy, repeat it on an idle one.`,
  ];
  for (const section of sections.join("\n").split(/^(?=## )/m)) {
    const lines = [...section.trimEnd().split("\n"), "", ...measured, ""];
    await writeFile(RESULTS, withSection(readFileSync(RESULTS, "utf8"), lines));
  }
}
