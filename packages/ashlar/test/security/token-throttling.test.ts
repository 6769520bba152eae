import { describe, expect, onTestFinished, test } from "vitest";
import { many, single } from "../../src/api/index.ts";
import { makeTokenText } from "../../src/api/stores/token-text.ts";
import { setClock } from "../../src/support/index.ts";
import { accountDigest, type LockoutEvent, ThrottleProvider } from "../../src/throttle/index.ts";
import { PASSWORD, type TestApi, testApi } from "../support/api-application.ts";
import { manyTokensApi } from "../support/many-tokens.ts";
import { personalTokensApi } from "../support/personal-tokens.ts";

const WRONG = { username: "ada@example.com", password: "not her password" };
const RIGHT = { username: "ada@example.com", password: PASSWORD };

/** The statuses of this many attempts from one address, one after the other. */
async function attempts(api: TestApi, count: number, body: object, ip = "203.0.113.7"): Promise<number[]> {
  const statuses: number[] = [];
  for (let attempt = 0; attempt < count; attempt++) {
    statuses.push((await api.post("/api/auth", body, { ip })).status);
  }
  return statuses;
}

function throttled(): Promise<TestApi> {
  return testApi({ providers: [ThrottleProvider] });
}

test("S33 after five wrong passwords from one address, the right one is refused too", async () => {
  const api = await throttled();
  expect(await attempts(api, 6, WRONG)).toEqual([401, 401, 401, 401, 401, 429]);
  const { status, headers, body } = await api.post("/api/auth", RIGHT, { ip: "203.0.113.7" });
  expect(status).toBe(429);
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  expect(headers.get("content-type")).toBe("application/problem+json");
  expect(body).toMatchObject({ status: 429, code: "E_TOO_MANY_REQUESTS" });
});

test("S33 wrong passwords lock out neither the account at other addresses nor the address for its own account", async () => {
  const api = await throttled();
  await attempts(api, 6, WRONG);
  expect((await api.post("/api/auth", RIGHT, { ip: "198.51.100.1" })).status).toBe(200);
  const other = { username: "bob@example.com", password: PASSWORD };
  expect((await api.post("/api/auth", other, { ip: "203.0.113.7" })).status).toBe(200);
});

test("S33 an unknown address is counted like a known one", async () => {
  const api = await throttled();
  const unknown = { username: "nobody@example.com", password: "not a password" };
  expect(await attempts(api, 6, unknown)).toEqual([401, 401, 401, 401, 401, 429]);
});

test("S33 another spelling of the address is the same account", async () => {
  const api = await throttled();
  await attempts(api, 5, WRONG);
  expect(await attempts(api, 1, { ...WRONG, username: " ADA@Example.com " })).toEqual([429]);
});

test("S33 of 50 concurrent attempts, five reach the password", async () => {
  const api = await throttled();
  const attempt = () => api.post("/api/auth", WRONG, { ip: "203.0.113.7" });
  const answers = [];
  // As many at once as an account may hash.
  for (let pair = 0; pair < 25; pair++) answers.push(...(await Promise.all([attempt(), attempt()])));
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(45);
  const flood = await Promise.all(
    Array.from({ length: 50 }, () => api.post("/api/auth", WRONG, { ip: "198.51.100.7" })),
  );
  expect(flood.filter(({ status }) => status !== 429).length).toBeLessThanOrEqual(5);
});

test("S33 concurrent attempts at two accounts are counted by account", async () => {
  const api = await throttled();
  const bodies = [WRONG, { ...WRONG, username: "bob@example.com" }].flatMap((body) => [body, body]);
  const answers = await Promise.all(bodies.map((body) => api.post("/api/auth", body, { ip: "203.0.113.7" })));
  expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 401));
});

test("a successful login gives attempts back to the account", async () => {
  const api = await throttled();
  await attempts(api, 4, WRONG);
  expect(await attempts(api, 1, RIGHT)).toEqual([200]);
  expect(await attempts(api, 5, WRONG)).toEqual([401, 401, 401, 401, 401]);
});

test("S33 renewals of a token are limited", async () => {
  const api = await throttled();
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 11; attempt++) {
    statuses.push((await api.post("/api/reauth", { token: "no.real.token" }, { ip: "203.0.113.7" })).status);
  }
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
});

test("S33 a genuine token is counted separately, so made-up or other users' tokens from its address don't use up its attempts", async () => {
  const api = await throttled();
  const renew = async (token: string) => (await api.post("/api/reauth", { token }, { ip: "203.0.113.7" })).status;
  const [ada, bob] = await Promise.all([1, 2].map(async (id) => (await api.User.find(id))!.generateJwt()));
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 11; attempt++) statuses.push(await renew("no.real.token"));
  expect([statuses.at(-1), await renew(ada!)]).toEqual([429, 200]);
  // It was renewed, and its renewal can be repeated for a minute; each time is counted.
  for (let attempt = 0; attempt < 9; attempt++) expect(await renew(ada!)).toBe(200);
  expect([await renew(ada!), await renew(bob!)]).toEqual([429, 200]);
});

describe("S33 ten made-up tokens from an address don't keep anyone there from revoking a token", () => {
  const ip = "203.0.113.7";
  const flooded = async (api: TestApi): Promise<void> => {
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 11; attempt++) {
      const path = attempt % 2 === 0 ? "/api/reauth" : "/api/logout";
      statuses.push((await api.post(path, { token: `no.real.token${attempt}` }, { ip })).status);
    }
    expect([statuses[0], statuses[1], statuses.at(-1)]).toEqual([401, 204, 429]);
  };
  const logouts = async (api: TestApi, token: string, count: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let time = 0; time < count; time++) statuses.push((await api.post("/api/logout", {}, { token, ip })).status);
    return statuses;
  };

  test.each([
    ["one token per user", single()],
    ["several tokens per user", many({ accessMinutes: 10 })],
  ])("S33 with %s: an access token, even an expired one, and each separately", async (_, tokens) => {
    const { api } = await manyTokensApi({
      providers: [ThrottleProvider],
      driver: { tokens, authenticates: true, ...(tokens.kind === "single" && { expires: 10 }) },
    });
    const [ada, bob] = [await api.token(), await api.token("bob@example.com")];
    setClock(() => Date.now() + 11 * 60_000);
    onTestFinished(() => setClock(null));
    await flooded(api);
    expect(await logouts(api, ada, 11)).toEqual([...Array.from({ length: 10 }, () => 204), 429]);
    expect(await logouts(api, bob, 1)).toEqual([204]);
    expect(await api.toldOf("api.token_revoked")).toMatchObject([{ userId: "1" }, { userId: "2" }]);
  });

  test("S33 a personal token, even a revoked one; a made-up one counts with the others", async () => {
    const tokens = await personalTokensApi({ providers: [ThrottleProvider] });
    const [mine, other] = [await tokens.issue(), await tokens.issue()];
    await flooded(tokens.api);
    tokens.api.forgetQueries();
    expect(await logouts(tokens.api, mine.token, 1)).toEqual([204]);
    expect(tokens.api.queries.filter((sql) => sql.includes("personal_tokens"))).toHaveLength(2);
    expect(await logouts(tokens.api, mine.token, 10)).toEqual([...Array.from({ length: 9 }, () => 204), 429]);
    expect(await logouts(tokens.api, other.token, 1)).toEqual([204]);
    expect(await logouts(tokens.api, makeTokenText("ash_"), 1)).toEqual([429]);
    expect(await tokens.api.toldOf("api.personal_token_revoked")).toHaveLength(2);
  });
});

test("S47 a lockout at the token endpoints has the guard jwt, but neither the token nor the account", async () => {
  const api = await throttled();
  const lockouts: LockoutEvent[] = [];
  const events = api.application.container.make("events");
  events.on("auth.lockout", (event) => lockouts.push(event));
  await attempts(api, 6, WRONG);
  const token = "no.real.token";
  for (let attempt = 0; attempt < 11; attempt++) await api.post("/api/reauth", { token }, { ip: "203.0.113.7" });
  const genuine = await (await api.User.find(2))!.generateJwt();
  for (let attempt = 0; attempt < 11; attempt++) {
    await api.post("/api/reauth", { token: genuine }, { ip: "203.0.113.7" });
  }
  await events.settled();
  const common = { time: expect.any(Date), address: "203.0.113.7", guard: "jwt", user: null };
  expect(lockouts).toEqual([
    { ...common, limit: "login", account: accountDigest(WRONG.username) },
    { ...common, limit: "api.reauth", account: null },
    // Whose token it was, by their key.
    { ...common, limit: "api.reauth", account: accountDigest("\0key 2") },
  ]);
});
