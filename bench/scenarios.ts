// The requests that the benchmark sends to the servers.
import { logInAsBrowsers } from "./browser-logins.ts";
import { type Fixtures, LOGINS, TOKENS, USERS } from "./fixtures.ts";
import type { Contestant } from "./processes.ts";
import type { Credential, Scenario } from "./throughput.ts";

export const bare: Contestant = { name: "node:http", script: "bare.ts", port: 4101 };
export const least: Contestant = {
  ...bare,
  name: "node:http, least headers",
  port: 4109,
  environment: { LEAST: "true" },
};
export const hono: Contestant = { name: "Hono", script: "hono.ts", port: 4110 };
export const fastify: Contestant = { name: "Fastify", script: "fastify.ts", port: 4102 };
export const ashlar: Contestant = { name: "Ashlar", script: "ashlar.ts", port: 4103 };
export const ashlarWithDatabase: Contestant = { ...ashlar, port: 4104, environment: { AUTHENTICATES: "true" } };
export const ashlarWithMany: Contestant = {
  ...ashlar,
  port: 4106,
  environment: { AUTHENTICATES: "true", DRIVER: "many" },
};
export const ashlarSigned: Contestant = { ...ashlar, port: 4107, environment: { DRIVER: "signed" } };
export const jose: Contestant = { name: "node:http with jose", script: "jose.ts", port: 4108 };
export const ashlarPages: Contestant = { name: "Ashlar", script: "ashlar-pages.ts", port: 4105 };

const asBearers = (list: readonly string[]): string[] => list.map((token) => `Bearer ${token}`);
const bearer = (values: readonly string[]): Credential => {
  return { header: "Authorization", values, broken: (value) => `${value.slice(0, -2)}xx` };
};
const count = (number: number): string => number.toLocaleString("en");

/**
 * The scenarios.
 *
 * @param wants returns whether a scenario is wanted, by its number. Users only have to log in for the page
 */
export async function makeScenarios(
  { tokens, accessTokens, signedTokens }: Fixtures,
  wants: (number: string) => boolean,
): Promise<Scenario[]> {
  const bearers = asBearers(tokens);
  const cookies = wants("5") ? await logInAsBrowsers(ashlarPages, LOGINS) : [];
  const scenarios: Scenario[] = [
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
  return scenarios.filter((_, index) => wants(String(index + 1)));
}
