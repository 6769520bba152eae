import { afterEach, describe, expect, test } from "vitest";
import { makeContext, makeLoadedContext } from "../../test/support/http-context.ts";
import { readThrottleSettings } from "../../test/support/throttle-settings.ts";
import { Events } from "../events/index.ts";
import { type HttpContext, IpMiddleware } from "../http/index.ts";
import { AshlarError, setClock } from "../support/index.ts";
import type { ThrottleAccounts } from "./counting/attempt-keys.ts";
import { accountDigest } from "./counting/attempt-keys.ts";
import type { ThrottleResult } from "./counting/results.ts";
import type { LockoutEvent } from "./events.ts";
import type { LimitSettings } from "./limits/limit.ts";
import { MemoryStore } from "./stores/memory-store.ts";
import { Throttle } from "./throttle.ts";

const PAIR = { by: ["account", "address"], attempts: 5, windowSeconds: 60 } as const;
const ADDRESS = { by: ["address"], attempts: 20, windowSeconds: 600 } as const;
const LOGIN: LimitSettings = { account: "email", buckets: [PAIR, ADDRESS] };

const ann = { account: "ann@example.com", address: "203.0.113.7" };

function create(limits: Readonly<Record<string, LimitSettings>> = { login: LOGIN }) {
  const events = new Events({ error: () => {} });
  const lockouts: LockoutEvent[] = [];
  events.on("auth.lockout", (event) => lockouts.push(event));
  const throttle = new Throttle(readThrottleSettings({ limits }), new MemoryStore(), () => events, { error: () => {} });
  return { throttle, lockouts, events };
}

/** A result without the buckets. */
function outcome({ allowed, limit, remaining, resetInSeconds }: ThrottleResult): unknown[] {
  return [allowed, limit, remaining, resetInSeconds];
}

/** Makes this many attempts concurrently and returns how many passed; the others must have been refused. */
async function passing(attempts: number, attempt: (index: number) => Promise<ThrottleResult>): Promise<number> {
  const refused: unknown[] = [];
  const all = Array.from({ length: attempts }, (_, index) => attempt(index).catch((error) => refused.push(error)));
  await Promise.all(all);
  for (const error of refused) expect(error).toMatchObject({ code: "E_TOO_MANY_REQUESTS", status: 429 });
  return attempts - refused.length;
}

/** A submitted login form. */
function login(email: unknown, ip: string | null = "203.0.113.7"): Promise<HttpContext> {
  return makeLoadedContext({
    url: "http://localhost/login",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password: "wrong" }),
    ...(ip === null ? {} : { ip }),
  });
}

/** Fake guards that use an account's identifier unchanged. */
function accountsOf(guardOf: ThrottleAccounts["guardOf"]): ThrottleAccounts {
  return {
    guardOf,
    mayHaveProof: () => false,
    refusal: () => null,
    named: (_, { guard, identifier }) => ({ realm: guard, account: identifier, proof: null, device: null }),
    ofUser: (_, guard, user) => ({
      realm: guard,
      account: `user ${(user as { authId(): number }).authId()}`,
      proof: null,
      device: null,
    }),
  };
}

/** The error from a refused hit. */
async function refusal(hit: Promise<unknown>): Promise<AshlarError> {
  const error = await hit.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AshlarError);
  return error as AshlarError;
}

const START = 1_700_000_000_000;
const travel = (seconds: number) => setClock(() => START + seconds * 1000);

afterEach(() => setClock(null));

describe("hit", () => {
  test("S33 lets 5 pass, then responds with 429 and Retry-After", async () => {
    travel(0);
    const { throttle } = create();
    const contexts = await Promise.all(Array.from({ length: 5 }, () => login("ann@example.com")));
    for (const context of contexts) expect((await throttle.hit(context, "login")).allowed).toBe(true);
    travel(18.2);
    const error = await refusal(throttle.hit(await login("ann@example.com"), "login"));
    expect({ ...error, message: error.message }).toEqual({
      name: "AshlarError",
      code: "E_TOO_MANY_REQUESTS",
      status: 429,
      headers: { "Retry-After": "42" },
      extensions: {},
      message: "Too many attempts. Try again in 42 seconds.",
    });
    travel(59.5);
    const last = await refusal(throttle.hit(await login("ann@example.com"), "login"));
    expect([last.message, last.headers]).toEqual(["Too many attempts. Try again in 1 second.", { "Retry-After": "1" }]);
  });

  test("a refusal by a network's count says so, and a refusal by an account's count never does", async () => {
    travel(0);
    const [network, own] = [
      "Too many attempts came from your network or address, perhaps from other people there. Try again in 60 seconds.",
      "Too many attempts. Try again in 60 seconds.",
    ];
    const bucket = (...by: readonly ("account" | "address")[]) => ({ by, attempts: 1, windowSeconds: 60 });
    const told = async (limit: LimitSettings, email: unknown, name: "login" | "orders" = "login") => {
      const { throttle } = create({ [name]: limit });
      await throttle.hit(await login(email), name as "login");
      return (await refusal(throttle.hit(await login(email), name as "login"))).message;
    };
    const byAddress = { account: "email", buckets: [bucket("address")] };
    expect(await told(byAddress, "ann@example.com")).toBe(network);
    expect(await told(byAddress, null)).toBe(network);
    for (const by of [["account"], ["account", "address"]] as const) {
      const limit = { account: "email", buckets: [bucket(...by)] };
      expect(await told(limit, "ann@example.com")).toBe(own);
      // Without an account, everyone at the address is counted together. Only limits for accounts hide such counts.
      expect(await told(limit, null, "orders")).toBe(network);
      expect(await told(limit, null)).toBe(own);
    }
  });

  test("a refusal that counts by a wider block of addresses names the network as the reason", async () => {
    travel(0);
    const { throttle } = create({
      login: { account: "email", buckets: [{ by: ["address"], attempts: 1, windowSeconds: 60 }] },
    });
    for (let home = 0; home < 4; home++)
      await throttle.hit(await login("ann@example.com", `2001:db8:0:${home}::1`), "login");
    const error = await refusal(throttle.hit(await login("ann@example.com", "2001:db8:0:4::1"), "login"));
    expect(error.message).toContain("from your network or address");
  });

  test.each([
    [1, "1 second"],
    [119, "119 seconds"],
    [120, "2 minutes"],
    [121, "3 minutes"],
    [300, "5 minutes"],
    [3600, "1 hour"],
  ])("a wait of %i seconds is displayed as %s", async (windowSeconds, told) => {
    travel(0);
    const { throttle } = create({ login: { account: "email", buckets: [{ ...PAIR, attempts: 1, windowSeconds }] } });
    await throttle.hit(await login("ann@example.com"), "login");
    const error = await refusal(throttle.hit(await login("ann@example.com"), "login"));
    expect(error.message).toBe(`Too many attempts. Try again in ${told}.`);
    expect(error.headers).toEqual({ "Retry-After": String(windowSeconds) });
  });

  test("S33 of 200 concurrent requests exactly 5 pass, and one lockout is emitted", async () => {
    const { throttle, lockouts, events } = create({ login: { account: "email", buckets: [PAIR] } });
    const contexts = await Promise.all(Array.from({ length: 200 }, () => login("ann@example.com")));
    expect(await passing(200, (index) => throttle.hit(contexts[index]!, "login"))).toBe(5);
    await events.settled();
    expect(lockouts).toHaveLength(1);
  });

  test("the account is the input named in the limit, in any spelling", async () => {
    const { throttle } = create();
    for (const email of [
      "ann@example.com",
      "ANN@example.com",
      "Ann@Example.com ",
      "ａｎｎ@example.com",
      "ann@example.com",
    ]) {
      await throttle.hit(await login(email), "login");
    }
    await refusal(throttle.hit(await login("ann@example.com"), "login"));
    expect((await throttle.hit(await login("bob@example.com"), "login")).allowed).toBe(true);
    // Registration treats these as different addresses, so they are different accounts.
    expect((await throttle.hit(await login("ánn@example.com"), "login")).allowed).toBe(true);
  });

  test("S36 an account that is not text counts as missing, and uses up no other client's attempts", async () => {
    const { throttle } = create();
    const values = [["ann@example.com"], { a: "ann@example.com" }, 7, null, true, [], "", undefined];
    const contexts = await Promise.all(values.map((email) => login(email)));
    expect(await passing(values.length, (index) => throttle.hit(contexts[index]!, "login"))).toBe(5);
    expect(outcome(await throttle.peek("login", ann)).slice(0, 3)).toEqual([true, 5, 5]);
    expect((await throttle.hit(await login(null, "203.0.113.8"), "login")).allowed).toBe(true);
  });

  test("S36 the account can be passed; anything but text counts as missing", async () => {
    const { throttle } = create();
    const hit = async (account: unknown) => throttle.hit(await login("ann@example.com"), "login", { account });
    await hit("bob@example.com");
    for (const account of [null, ["ann@example.com"], 7, {}]) await hit(account);
    const left = async (account: string | null) => (await throttle.peek("login", { ...ann, account })).remaining;
    expect([await left("bob@example.com"), await left(null), await left("ann@example.com")]).toEqual([4, 1, 5]);
  });

  test("S42 a body that cannot be parsed is an attempt like any other", async () => {
    const { throttle } = create();
    const broken = () => {
      return makeLoadedContext({
        headers: { "content-type": "application/json" },
        body: '{"email":',
        ip: "203.0.113.7",
      });
    };
    const contexts = await Promise.all(Array.from({ length: 20 }, broken));
    expect(await passing(20, (index) => throttle.hit(contexts[index]!, "login"))).toBe(5);
  });

  test("S33 S44 an address in a header changes nothing", async () => {
    const { throttle } = create();
    const attempt = (index: number) => {
      const headers = {
        "x-forwarded-for": `8.8.8.${index}`,
        "client-ip": `8.8.4.${index}`,
        forwarded: `for=1.1.1.${index}`,
      };
      const context = makeContext({ ip: "203.0.113.7", headers });
      new IpMiddleware().handle(context, () => null);
      expect(context.request.ip()).toBe(`8.8.4.${index}`);
      return throttle.hit(context, "login", { account: "ann@example.com" });
    };
    expect(await passing(50, attempt)).toBe(5);
  });

  test("S54 requests without an address share no bucket, and each account has only its own attempts", async () => {
    const { throttle } = create();
    const contexts = await Promise.all(
      Array.from({ length: 50 }, (_, index) => login(`user${index}@example.com`, null)),
    );
    expect(await passing(50, (index) => throttle.hit(contexts[index]!, "login"))).toBe(50);
    const ofOne = await Promise.all(Array.from({ length: 10 }, () => login("user0@example.com", null)));
    expect(await passing(10, (index) => throttle.hit(ofOne[index]!, "login"))).toBe(4);
  });

  test("S47 a lockout is emitted at the first refusal of each window, with time, address, limit and the account's digest", async () => {
    const { throttle, lockouts, events } = create();
    for (const second of [0, 1, 59, 60, 61]) {
      travel(second);
      for (let attempt = 0; attempt < 4; attempt++) {
        await throttle.hit(await login("ann@example.com"), "login").catch(() => null);
      }
    }
    await events.settled();
    const account = accountDigest("ann@example.com");
    const common = { address: "203.0.113.7", guard: null, user: null, limit: "login", account };
    expect(lockouts).toEqual([
      { ...common, time: new Date(START + 1000) },
      { ...common, time: new Date(START + 61_000) },
    ]);
    expect(JSON.stringify(lockouts)).not.toContain("ann@");
  });

  test("S47 a lockout of an address before the body is read names no account, whatever the URL says", async () => {
    const { throttle, lockouts, events } = create({
      login: { account: "email", buckets: [{ ...ADDRESS, attempts: 1 }] },
    });
    await throttle.hit(await login("ann@example.com"), "login");
    const context = makeContext({ url: "http://localhost/login?email=bob@example.com", ip: "203.0.113.7" });
    await expect(throttle.refuseByAddress(context, "login")).rejects.toMatchObject({ status: 429 });
    await events.settled();
    expect(lockouts).toMatchObject([{ address: "203.0.113.7", account: null }]);
  });

  test("S47 a lockout does not reveal a secret that was typed instead of an account", async () => {
    const { throttle, lockouts, events } = create({ renew: { account: "token", buckets: [PAIR] } });
    const context = await makeLoadedContext({
      ip: "203.0.113.7",
      body: "token=s3cret-t0ken",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    for (let attempt = 0; attempt < 6; attempt++) await throttle.hit(context, "renew").catch(() => null);
    await events.settled();
    expect(lockouts).toEqual([
      {
        time: expect.any(Date),
        address: "203.0.113.7",
        guard: null,
        user: null,
        limit: "renew",
        account: accountDigest("s3cret-t0ken"),
      },
    ]);
    expect(JSON.stringify(lockouts)).not.toContain("s3cret");
  });

  test("S47 a lockout has the active guard if the limit is one of the framework's for accounts", async () => {
    const { throttle, lockouts, events } = create({ login: LOGIN, export: { buckets: [PAIR] } });
    throttle.useAccounts(accountsOf(({ request }) => request.header("x-guard")));
    const user = { authId: () => 7 };
    const context = makeContext({ ip: "203.0.113.7", headers: { "x-guard": "staff" } });
    context.currentUser = user;
    for (let attempt = 0; attempt < 6; attempt++) await throttle.hit(context, "login").catch(() => null);
    for (let attempt = 0; attempt < 6; attempt++) await throttle.hit(context, "export").catch(() => null);
    await events.settled();
    const common = { time: expect.any(Date), address: "203.0.113.7", user, account: accountDigest("user 7") };
    expect(lockouts).toEqual([
      { ...common, guard: "staff", limit: "login" },
      { ...common, guard: null, limit: "export" },
    ]);
  });

  test("S47 a lockout has the guard that was passed, whatever the limit and the active guard", async () => {
    const { throttle, lockouts, events } = create({ login: LOGIN, export: { buckets: [PAIR] } });
    throttle.useAccounts(accountsOf(() => "web"));
    for (const limit of ["login", "export"] as const) {
      const context = makeContext({ ip: "203.0.113.7" });
      for (let attempt = 0; attempt < 6; attempt++) {
        await throttle.hit(context, limit, { account: "ann@example.com", guard: "staff" }).catch(() => null);
      }
    }
    await events.settled();
    const account = accountDigest("ann@example.com");
    const common = { time: expect.any(Date), address: "203.0.113.7", guard: "staff", user: null, account };
    expect(lockouts).toEqual([
      { ...common, limit: "login" },
      { ...common, limit: "export" },
    ]);
  });

  test("a listener that fails or is slow does not change the response", async () => {
    const { throttle, events } = create();
    events.on("auth.lockout", () => {
      throw new Error("The pager is broken.");
    });
    events.on("auth.lockout", () => new Promise(() => {}));
    await throttle.consume("login", ann, 5);
    expect((await refusal(throttle.hit(await login("ann@example.com"), "login"))).status).toBe(429);
  });

  test("without events it still refuses", async () => {
    const throttle = new Throttle(readThrottleSettings({ limits: { login: LOGIN } }), new MemoryStore(), () => null, {
      error: () => {},
    });
    await throttle.consume("login", ann, 5);
    expect((await refusal(throttle.hit(await login("ann@example.com"), "login"))).status).toBe(429);
  });
});

describe("clear", () => {
  test("clears the attempts of the request's account", async () => {
    const { throttle } = create();
    for (let round = 0; round < 3; round++) {
      for (let attempt = 0; attempt < 5; attempt++) await throttle.hit(await login("ann@example.com"), "login");
      await throttle.clear(await login("Ann@example.com"), "login");
    }
    expect((await throttle.peek("login", { ...ann, account: "bob@example.com" })).buckets[0]).toMatchObject({
      bucket: { name: "login-address" },
      remaining: 5,
    });
  });

  test("the account can be passed", async () => {
    const { throttle } = create({ resend: { buckets: [PAIR] } });
    const context = makeContext({ ip: "203.0.113.7" });
    for (let attempt = 0; attempt < 5; attempt++) await throttle.hit(context, "resend", { account: "7" });
    await throttle.clear(context, "resend");
    expect((await throttle.peek("resend", { account: "7", address: "203.0.113.7" })).allowed).toBe(false);
    await throttle.clear(context, "resend", { account: "7" });
    expect((await throttle.peek("resend", { account: "7", address: "203.0.113.7" })).allowed).toBe(true);
  });
});

test("S33 without an account, attempts belong to the user, and another user's are counted separately", async () => {
  const { throttle } = create({ resend: { buckets: [PAIR] } });
  const asUser = (id: number): HttpContext => {
    const context = makeContext({ ip: "203.0.113.7" });
    context.currentUser = { authId: () => id };
    return context;
  };
  expect(await passing(8, () => throttle.hit(asUser(1), "resend"))).toBe(5);
  expect(await passing(8, () => throttle.hit(asUser(2), "resend"))).toBe(5);
  // A guest has no account. An account in the options takes precedence over the user's.
  expect(await passing(8, () => throttle.hit(makeContext({ ip: "203.0.113.7" }), "resend"))).toBe(5);
  expect(await passing(8, () => throttle.hit(asUser(1), "resend", { account: "ann@example.com" }))).toBe(5);
});

describe("S133 IPv6 addresses count by 64, 56 and 48 bits", () => {
  const limits = { export: { buckets: [{ by: ["address"], attempts: 2, windowSeconds: 60 }] } } as const;
  const from = (throttle: Throttle, address: string) => throttle.consume("export", { address });
  /** The number of attempts that pass from this many networks of 64 bits, one each. */
  const passingFrom = async (throttle: Throttle, networks: readonly string[]) => {
    const results = [];
    for (const network of networks) results.push(await from(throttle, `${network}::1`));
    return results.filter(({ allowed }) => allowed).length;
  };
  const hex = (value: number) => value.toString(16).padStart(2, "0");

  test("a home's 256 networks have four times the attempts of one, and a site's 65,536 have sixteen times", async () => {
    const { throttle } = create(limits);
    const home = Array.from({ length: 256 }, (_, index) => `2001:db8:1:1${hex(index)}`);
    expect(await passingFrom(throttle, home)).toBe(8);
    const site = Array.from({ length: 256 }, (_, index) => `2001:db8:1:${hex(index)}00`);
    // The home is part of the site, so the home's attempts count for the site too.
    expect(await passingFrom(throttle, site)).toBe(32 - 8);
    expect(await passingFrom(throttle, ["2001:db8:2:100", "2001:db8:1:ff00"])).toBe(1);
  });

  test("an attempt refused by one block doesn't count for the others, so neighbors keep their attempts", async () => {
    const { throttle } = create(limits);
    for (let attempt = 0; attempt < 100; attempt++) await from(throttle, "2001:db8:1:100::1");
    const neighbors = Array.from({ length: 7 }, (_, index) => `2001:db8:1:10${index + 1}`);
    expect(await passingFrom(throttle, neighbors)).toBe(6);
  });

  test("clients learn only the count of their own network", async () => {
    const { throttle } = create(limits);
    const context = await login("ann@example.com", "2001:db8:1:100::1");
    const { policy } = await throttle.hit(context, "export");
    expect(policy).toBe('"export";q=2;w=60');
    expect(context.response.text("").toResponse().headers.get("RateLimit")).toBe('"export";r=1;t=60');
  });
});
