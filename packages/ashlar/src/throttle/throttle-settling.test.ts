import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeContext } from "../../test/support/http-context.ts";
import { readThrottleSettings } from "../../test/support/throttle-settings.ts";
import type { HttpContext } from "../http/index.ts";
import { setClock } from "../support/index.ts";
import type { HitOptions, ThrottleAccounts } from "./counting/attempt-keys.ts";
import type { LimitName } from "./limit-name.ts";
import type { Bucket, LimitSettings } from "./limits/limit.ts";
import { MemoryStore } from "./stores/memory-store.ts";
import type { AttemptCount, AttemptCounter, ThrottleStore } from "./stores/store.ts";
import { Throttle } from "./throttle.ts";

const PAIR = { by: ["account", "address"], attempts: 5, windowSeconds: 60 } as const;
const ADDRESS = { by: ["address"], attempts: 20, windowSeconds: 600 } as const;
const ACCOUNT = { by: ["account"], attempts: 40, windowSeconds: 3600 } as const;
const LOGIN: LimitSettings = { account: "email", buckets: [PAIR, ADDRESS] };
const HERE = "203.0.113.7";

const START = 1_700_000_000_000;
const travel = (seconds: number) => setClock(() => START + seconds * 1000);

beforeEach(() => travel(0));
afterEach(() => setClock(null));

function deviceOf(request: HttpContext["request"]) {
  const id = request.header("x-device");
  return id === null ? null : { id, group: request.header("x-group") ?? "" };
}

/** Accounts, as identified by guards. Headers select the active guard, the proof and the device. */
const ACCOUNTS: ThrottleAccounts = {
  guardOf: ({ request }) => request.header("x-guard"),
  refusal: () => null,
  mayHaveProof: ({ request }) => request.header("x-proof") !== null || request.header("x-device") !== null,
  named: ({ request }, { limit, guard, identifier }) => ({
    realm: `${guard} ${limit}`,
    account: identifier.includes("@") ? identifier : null,
    proof: request.header("x-proof"),
    device: deviceOf(request),
  }),
  ofUser: ({ request }, guard, user) =>
    guard === "none"
      ? null
      : {
          realm: `${guard} login`,
          account: (user as { email: string }).email,
          proof: null,
          device: deviceOf(request),
        },
};

function create(
  limits: Readonly<Record<string, LimitSettings>> = { login: LOGIN },
  store: ThrottleStore = new MemoryStore(),
) {
  const logged: unknown[][] = [];
  const logger = { error: (...line: unknown[]) => void logged.push(line) };
  const throttle = new Throttle(readThrottleSettings({ limits }), store, () => null, logger);
  throttle.useAccounts(ACCOUNTS);
  const left = async (keys: { account?: string; address?: string; proof?: string }, realm = "web login") => {
    const { buckets } = await throttle.peek("login", { realm, account: null, ...keys });
    return Object.fromEntries(buckets.map(({ bucket, remaining }) => [bucket.by.join(), remaining]));
  };
  return { throttle, left, logged };
}

/** A request, by default from the usual address and for the guard `web`. */
function request(headers: Record<string, string> = {}, ip: string = HERE, query = ""): HttpContext {
  return makeContext({ url: `http://localhost/login${query}`, ip, headers: { "x-guard": "web", ...headers } });
}

const ann = { account: "ann@example.com" };
const bob = { account: "bob@example.com" };

/** Returns how many of these attempts pass. */
async function passing(throttle: Throttle, count: number, make: () => HttpContext, options: HitOptions = ann) {
  let passed = 0;
  for (let index = 0; index < count; index++) {
    passed += await throttle.hit(make(), "login", options).then(
      () => 1,
      () => 0,
    );
  }
  return passed;
}

describe("known devices", () => {
  test("S54 a device that the account was used on has its own attempts, from any address", async () => {
    const { throttle, left } = create();
    expect(await passing(throttle, 6, () => request())).toBe(5);
    expect(await passing(throttle, 2, () => request({ "x-device": "one" }))).toBe(2);
    expect(await passing(throttle, 4, () => request({ "x-device": "one" }, "203.0.113.8"))).toBe(3);
    // They didn't use up any of the address's attempts.
    expect(await left({ ...bob, address: HERE })).toEqual({ address: 14, "account,address": 5 });
    expect(await left({ ...bob, address: "203.0.113.8" })).toEqual({ address: 20, "account,address": 5 });
  });

  test("S54 all of an account's devices share three times the attempts of one, and after that those of unknown clients", async () => {
    const { throttle, left } = create({ login: { account: "email", buckets: [PAIR, ADDRESS, ACCOUNT] } });
    for (const device of ["one", "two", "three"]) {
      expect(await passing(throttle, 6, () => request({ "x-device": device }, "203.0.113.8"))).toBe(5);
    }
    expect(await left({ ...ann, address: HERE })).toEqual({ account: 25, address: 20, "account,address": 5 });
    expect(await passing(throttle, 4, () => request({ "x-device": "four" }))).toBe(4);
    // Buckets by account alone have counted each of them once.
    expect(await left({ ...ann, address: HERE })).toEqual({ account: 21, address: 16, "account,address": 1 });
    expect(await passing(throttle, 5, () => request({ "x-device": "five" }))).toBe(1);
    // The other account's devices haven't made any attempts.
    expect(await passing(throttle, 5, () => request({ "x-device": "four" }), bob)).toBe(5);
    expect(await left({ ...bob, address: HERE })).toMatchObject({ "account,address": 5 });
  });

  test("S54 devices of another group share nothing with them, even from the same address", async () => {
    const { throttle } = create();
    for (const device of ["one", "two", "three", "four"]) {
      await passing(throttle, 5, () => request({ "x-device": device, "x-group": "before" }));
    }
    expect(await passing(throttle, 6, () => request({ "x-device": "laptop", "x-group": "now" }))).toBe(5);
  });

  test("S54 buckets by address alone do not reduce the attempts that all devices share", async () => {
    const { throttle, left } = create({ login: { buckets: [PAIR, { ...ADDRESS, attempts: 2 }] } });
    for (const device of ["one", "two", "three"]) {
      expect(await passing(throttle, 5, () => request({ "x-device": device }))).toBe(5);
    }
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 2, "account,address": 5 });
  });

  test("S54 attempts refused to one device do not reduce those that all devices share", async () => {
    const { throttle, left } = create({ login: { buckets: [ACCOUNT, PAIR] } });
    for (const device of ["one", "two", "three"]) {
      expect(await passing(throttle, 8, () => request({ "x-device": device }))).toBe(5);
    }
    expect(await left({ ...ann, address: HERE })).toMatchObject({ "account,address": 5 });
  });

  test("the headers show what counted: the device's attempts, then those of unknown clients", async () => {
    const { throttle } = create();
    const headersOf = async (device: string) => {
      const context = request({ "x-device": device });
      await throttle.hit(context, "login", ann);
      const { headers } = context.response.text("").toResponse();
      return [headers.get("ratelimit-policy"), headers.get("ratelimit")];
    };
    expect(await headersOf("one")).toEqual(['"login";q=5;w=60', '"login";r=4;t=60']);
    for (const device of ["one", "two", "three"]) await passing(throttle, 5, () => request({ "x-device": device }));
    const policy = '"login-address";q=20;w=600, "login";q=5;w=60';
    expect(await headersOf("four")).toEqual([policy, '"login-address";r=19;t=600, "login";r=4;t=60']);
  });

  test("S54 the attempts that all devices share are counted in their own window", async () => {
    const { throttle, left } = create();
    for (const device of ["one", "two", "three"]) await passing(throttle, 5, () => request({ "x-device": device }));
    travel(59.999);
    await passing(throttle, 1, () => request({ "x-device": "four" }));
    expect(await left({ ...ann, address: HERE })).toMatchObject({ "account,address": 4 });
    travel(60);
    await passing(throttle, 1, () => request({ "x-device": "four" }));
    expect(await left({ ...ann, address: HERE })).toMatchObject({ "account,address": 4 });
  });

  test("an attempt is given back in every bucket that counted it", async () => {
    const { throttle, left } = create();
    const first = request({ "x-device": "one" });
    await throttle.hit(first, "login", ann);
    await passing(throttle, 4, () => request({ "x-device": "one" }));
    for (const device of ["two", "three"]) await passing(throttle, 5, () => request({ "x-device": device }));
    const fourth = request({ "x-device": "four" });
    await throttle.hit(fourth, "login", ann);
    await throttle.giveBack(fourth, "login");
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 20, "account,address": 5 });
    expect(await left({ ...ann, proof: "four" })).toEqual({ "account,address": 5 });
    await throttle.giveBack(first, "login");
    expect(await left({ ...ann, proof: "one" })).toEqual({ "account,address": 1 });
    // One of the fifteen is available again.
    await throttle.hit(request({ "x-device": "four" }), "login", ann);
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 20, "account,address": 5 });
    await throttle.hit(request({ "x-device": "four" }), "login", ann);
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 4 });
  });

  test("S53 giving back attempts at an account also gives them back to all its devices", async () => {
    const { throttle, left } = create();
    for (let attempt = 0; attempt < 20; attempt++) {
      const untried = request({ "x-device": "one" });
      await throttle.hit(untried, "login", ann);
      await throttle.giveBack(untried, "login", { only: "account" });
    }
    for (const device of ["one", "two", "three"]) {
      expect(await passing(throttle, 5, () => request({ "x-device": device }))).toBe(5);
    }
    expect(await left({ ...ann, address: HERE })).toMatchObject({ "account,address": 5 });
  });

  test("S53 a success on a known device clears the device's attempts, but not those of unknown clients", async () => {
    const { throttle, left } = create();
    await passing(throttle, 3, () => request());
    await passing(throttle, 2, () => request({ "x-device": "one" }));
    const last = request({ "x-device": "one" });
    await throttle.hit(last, "login", ann);
    await throttle.clear(last, "login", ann);
    expect(await left({ ...ann, proof: "one" })).toEqual({ "account,address": 5 });
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 17, "account,address": 2 });
  });
});

describe("a limit that counts known devices separately", () => {
  const LIMIT = "login.account";
  const HOUR = { by: ["account"], attempts: 3, windowSeconds: 3600 } as const;

  function createApart() {
    const { throttle } = create({ [LIMIT]: { buckets: [HOUR] } });
    const hit = (headers: Record<string, string> = {}) => throttle.attempt(request(headers), LIMIT, ann);
    const leftToStrangers = async () => (await throttle.peek(LIMIT, { realm: `web ${LIMIT}`, ...ann })).remaining;
    return { hit, leftToStrangers };
  }

  test("S133 an attempt that the devices' own budget allows is not counted as an unknown client's", async () => {
    const { hit, leftToStrangers } = createApart();
    const counts = [];
    for (const device of ["one", "two", "one", "two", "three"]) {
      await hit({ "x-device": device });
      counts.push(await leftToStrangers());
    }
    expect(counts).toEqual([3, 3, 3, 2, 1]);
    // The first attempt is the last one that unknown clients have left. The second one passes under the slower limit.
    const allowed = [];
    for (const headers of [{}, { "x-device": "one" }, {}]) allowed.push((await hit(headers)).allowed);
    expect(allowed).toEqual([true, true, false]);
  });

  test("S133 and neither is an attempt that a proof's own budget allows, which no device shares", async () => {
    const { hit, leftToStrangers } = createApart();
    for (const headers of [{ "x-proof": "one" }, { "x-proof": "two" }, { "x-device": "one" }]) {
      for (let attempt = 0; attempt < 3; attempt++) await hit(headers);
      expect(await leftToStrangers()).toBe(3);
    }
  });
});

describe("proofs", () => {
  test("S54 a proof is counted separately and takes precedence over a device, and one account's proofs share nothing", async () => {
    const { throttle, left } = create();
    for (const proof of ["one", "two", "three", "four"]) {
      expect(await passing(throttle, 6, () => request({ "x-proof": proof, "x-device": "mine" }))).toBe(5);
    }
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 20, "account,address": 5 });
    expect(await left({ ...ann, proof: "mine" })).toEqual({ "account,address": 5 });
  });

  test("S54 a given proof takes precedence over the account's", async () => {
    const { throttle, left } = create();
    await throttle.hit(request({ "x-proof": "theirs" }), "login", { ...ann, proof: "given" });
    expect(await left({ ...ann, proof: "given" })).toEqual({ "account,address": 4 });
    expect(await left({ ...ann, proof: "theirs" })).toEqual({ "account,address": 5 });
  });

  test("S33 a limit that counts only by address counts clients with a proof by their address", async () => {
    const { throttle } = create({ login: { buckets: [{ ...ADDRESS, attempts: 2 }] } });
    expect(await passing(throttle, 4, () => request(), { ...ann, proof: "one" })).toBe(2);
    expect(await passing(throttle, 4, () => request({}, "203.0.113.8"), { ...ann, proof: "one" })).toBe(2);
  });

  test("a limit that can't count an attempt at all lets it pass, and reports the full limit", async () => {
    const { throttle } = create({ login: { buckets: [ADDRESS] } });
    const nothing = { allowed: true, limit: 20, remaining: 20, resetInSeconds: 0, buckets: [], policy: "" };
    for (const proof of [null, "one"]) {
      expect(await throttle.consume("login", { address: null, proof })).toEqual(nothing);
      expect(await throttle.peek("login", { address: null, proof })).toEqual(nothing);
    }
  });
});

describe("giving back", () => {
  test("an attempt from a window that has ended is not given back to the next", async () => {
    const { throttle, left, logged } = create();
    const [early, late] = [request(), request()];
    await throttle.hit(early, "login", ann);
    await throttle.hit(late, "login", ann);
    travel(59.999);
    await throttle.giveBack(early, "login");
    expect(logged).toEqual([]);
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 4 });
    travel(60);
    await throttle.hit(request(), "login", ann);
    await throttle.giveBack(late, "login");
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 4 });
  });

  test("a window that ends between reading its count and the refusal counts nothing, and earlier counts stay", async () => {
    /** A store that takes a minute to return a count. */
    class SlowStore extends MemoryStore {
      override counter(bucket: Bucket): AttemptCounter {
        const counter = super.counter(bucket);
        const get = async (key: string) => {
          const count = await counter.get(key);
          travel(60);
          return count;
        };
        return {
          add: (key, cost) => counter.add(key, cost),
          takeBack: async (key, cost) => {
            await nextTurn();
            await counter.takeBack(key, cost);
          },
          get,
          delete: (key) => counter.delete(key),
        };
      }
    }
    const buckets = [
      { by: ["account", "address"], attempts: 5, windowSeconds: 600 },
      { by: ["address"], attempts: 1, windowSeconds: 60 },
    ] as const;
    const { throttle, left } = create({ login: { account: "email", buckets } }, new SlowStore());
    const context = request();
    await throttle.hit(context, "login", ann);
    await expect(throttle.hit(request(), "login", bob)).rejects.toMatchObject({ status: 429 });
    await throttle.refuseByAddress(context, "login");
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 1, "account,address": 4 });
  });

  test("S54 attempts without an account do not refuse their address before the account is read", async () => {
    const { throttle } = create();
    expect(await passing(throttle, 6, () => request(), { account: null })).toBe(5);
    await throttle.refuseByAddress(request(), "login");
    expect(await passing(throttle, 1, () => request())).toBe(1);
  });

  test("no attempt is given back twice, or by another limit or request", async () => {
    const { throttle, left } = create({ login: LOGIN, export: { buckets: [ADDRESS] } });
    const [one, other] = [request(), request()];
    for (const context of [one, other]) await throttle.hit(context, "login", ann);
    await throttle.hit(one, "export", ann);
    for (let again = 0; again < 2; again++) await throttle.giveBack(one, "login");
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 4 });
    expect((await throttle.peek("export", { address: HERE })).remaining).toBe(19);
    await throttle.giveBack(one, "export");
    expect((await throttle.peek("export", { address: HERE })).remaining).toBe(20);
  });

  test("S53 attempts counted for the account can be given back alone, and the rest is not given back later", async () => {
    const { throttle, left } = create({ login: { account: "email", buckets: [PAIR, ADDRESS, ACCOUNT] } });
    const context = request();
    await throttle.hit(context, "login", ann);
    expect(await left({ ...ann, address: HERE })).toEqual({ account: 39, address: 19, "account,address": 4 });
    for (const options of [{ only: "account" }, {}] as const) {
      await throttle.giveBack(context, "login", options);
      expect(await left({ ...ann, address: HERE })).toEqual({ account: 40, address: 19, "account,address": 5 });
    }
  });

  test("S53 attempts counted by address alone can be given back separately", async () => {
    const { throttle, left } = create({ login: { account: "email", buckets: [PAIR, ADDRESS, ACCOUNT] } });
    const context = request();
    await throttle.hit(context, "login", ann);
    await throttle.giveBack(context, "login", { only: "address" });
    expect(await left({ ...ann, address: HERE })).toEqual({ account: 39, address: 20, "account,address": 4 });
  });

  test("S53 one of several attempts of a request can be given back", async () => {
    const { throttle, left } = create();
    const context = request();
    await throttle.hit(context, "login", ann);
    const attempt = await throttle.hit(context, "login", ann);
    for (let again = 0; again < 2; again++) await throttle.giveBack(context, "login", { attempt });
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 4 });
  });

  test("S53 attempts at an account's different subjects are counted, given back and forgotten separately", async () => {
    const { throttle, left } = create();
    const context = request();
    await throttle.hit(context, "login", { ...ann, subject: "code" });
    await throttle.hit(context, "login", { ...ann, subject: "question" });
    await throttle.hit(context, "login", ann);
    const ofPair = async (keys: object) => (await left({ ...ann, address: HERE, ...keys }))["account,address"];
    const all = async () => [
      await ofPair({ subject: "code" }),
      await ofPair({ subject: "question" }),
      await ofPair({}),
    ];
    expect(await all()).toEqual([4, 4, 4]);
    await throttle.clear(context, "login", { ...ann, subject: "code" });
    expect(await all()).toEqual([5, 4, 4]);
    await throttle.clear(context, "login", ann);
    expect(await all()).toEqual([5, 4, 5]);
  });

  test("S53 a success gives back its own attempt, once, and clears those at its account", async () => {
    const { throttle, left } = create({ login: LOGIN, export: { buckets: [ADDRESS] } });
    const contexts = [request(), request(), request()];
    for (const context of contexts) await throttle.hit(context, "login", ann);
    await throttle.hit(contexts[2]!, "login", bob);
    await throttle.hit(contexts[2]!, "export", ann);
    for (let again = 0; again < 2; again++) await throttle.clear(contexts[2]!, "login", ann);
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 17, "account,address": 5 });
    expect(await left({ ...bob, address: HERE })).toEqual({ address: 17, "account,address": 4 });
    expect((await throttle.peek("export", { address: HERE })).remaining).toBe(19);
  });

  test("S53 a success under one limit gives back its request's attempts under the other named limits", async () => {
    const beside: LimitSettings = { account: "email", buckets: [PAIR, ACCOUNT] };
    const { throttle } = create({ login: LOGIN, export: beside, register: beside });
    const [context, other] = [request(), request()];
    await throttle.hit(other, "export", ann);
    await throttle.hit(context, "login", ann);
    for (const who of [ann, bob, ann]) await throttle.hit(context, "export", who);
    await throttle.hit(context, "register", ann);
    const remaining = async (limit: LimitName, who: object) => {
      const { buckets } = await throttle.peek(limit, { realm: `web ${limit}`, address: HERE, ...who });
      return buckets.map((one) => one.remaining);
    };
    const all = async () => [
      await remaining("login", ann),
      await remaining("export", ann),
      await remaining("export", bob),
      await remaining("register", ann),
    ];
    expect(await all()).toEqual([
      [19, 4],
      [2, 37],
      [4, 39],
      [4, 39],
    ]);
    const cleared = [
      [20, 5],
      // The other request's attempt stays counted.
      [4, 39],
      [5, 40],
      [4, 39],
    ];
    for (let again = 0; again < 2; again++) {
      await throttle.clear(context, "login", ann, ["export"]);
      expect(await all()).toEqual(cleared);
    }
    await throttle.giveBack(context, "export");
    expect(await all()).toEqual(cleared);
  });

  test("S53 a success without an account gives nothing back", async () => {
    const { throttle, left } = create();
    const context = request();
    await throttle.hit(context, "login", { account: null });
    await throttle.clear(context, "login", { account: null });
    expect(await left({ address: HERE })).toEqual({ address: 19, "account,address": 4 });
  });

  test("S69 the same address with another guard is another account, and a success with one gives nothing back to the other", async () => {
    const { throttle, left } = create();
    const context = request({ "x-guard": "staff" });
    await throttle.hit(context, "login", ann);
    await throttle.clear(context, "login", { ...ann, guard: "web" });
    expect(await left({ ...ann, address: HERE }, "staff login")).toEqual({ address: 19, "account,address": 4 });
  });
});

describe("aim", () => {
  test("counts nothing for a request that was not counted, unless `always` is set", async () => {
    const { throttle, left } = create();
    const context = request();
    await throttle.aim(context, "login", ann);
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 20, "account,address": 5 });
    await throttle.aim(context, "login", ann, true);
    await throttle.aim(context, "login", ann, true);
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 4 });
  });

  test("S53 counts for the given account, and no longer for the one in an input", async () => {
    const { throttle, left } = create();
    const context = request();
    await throttle.hit(context, "login", bob);
    await throttle.aim(context, "login", ann);
    expect(await left({ ...bob, address: HERE })).toEqual({ address: 19, "account,address": 5 });
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 4 });
    await throttle.aim(context, "login", { ...ann, guard: "staff" });
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 5 });
    expect(await left({ ...ann, address: HERE }, "staff login")).toEqual({ address: 19, "account,address": 4 });
  });

  test("counts an attempt once, even if the window that it was counted in has ended", async () => {
    const { throttle, left } = create();
    const context = request();
    await throttle.hit(context, "login", ann);
    travel(60);
    await throttle.aim(context, "login", ann);
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 5 });
  });

  test("leaves an attempt without an account counted by address", async () => {
    const { throttle, left } = create();
    const context = request();
    await throttle.hit(context, "login", ann);
    await throttle.aim(context, "login", { account: null });
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 4 });
  });

  test("S53 refuses if the given account has no attempts left", async () => {
    const { throttle } = create();
    await passing(throttle, 5, () => request());
    const context = request();
    await throttle.hit(context, "login", bob);
    await expect(throttle.aim(context, "login", ann)).rejects.toMatchObject({ code: "E_TOO_MANY_REQUESTS" });
  });
});

describe("the account of an attempt", () => {
  const user = { email: "ann@example.com", authId: () => 7 };

  test("S53 a given user counts, whatever the inputs are; null means no account", async () => {
    const { throttle, left } = create();
    const query = "?email=bob@example.com";
    await throttle.hit(request({}, HERE, query), "login", { user });
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 4 });
    await throttle.hit(request({}, HERE, query), "login", { user: null });
    expect(await left({ ...bob, address: HERE })).toEqual({ address: 18, "account,address": 5 });
    expect(await left({ address: HERE })).toEqual({ address: 18, "account,address": 4 });
    await throttle.hit(request({}, HERE, query), "login");
    expect(await left({ ...bob, address: HERE })).toEqual({ address: 17, "account,address": 4 });
  });

  test("a limit without an input uses no input as the account", async () => {
    const { throttle } = create({ login: { buckets: [PAIR] } });
    await throttle.hit(request({}, HERE, "?null=bob@example.com&undefined=bob@example.com"), "login");
    expect((await throttle.peek("login", { address: HERE })).remaining).toBe(4);
  });

  test("an account of null means none, even if a user is logged in", async () => {
    const { throttle, left } = create();
    const context = request();
    context.currentUser = user;
    await throttle.hit(context, "login", { account: null });
    expect(await left({ address: HERE })).toEqual({ address: 19, "account,address": 4 });
    await throttle.hit(context, "login");
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 18, "account,address": 4 });
  });

  test("S69 a given guard takes precedence over the active one", async () => {
    const { throttle, left } = create();
    await throttle.hit(request(), "login", { ...ann, guard: "staff" });
    await throttle.hit(request(), "login", { user, guard: "staff" });
    expect(await left({ ...ann, address: HERE }, "staff login")).toEqual({ address: 18, "account,address": 3 });
    expect(await left({ ...ann, address: HERE })).toEqual({ address: 18, "account,address": 5 });
  });

  test("without a guard, an account is its identifier, and a user is identified by their key", async () => {
    const { throttle, left } = create();
    const context = makeContext({ ip: HERE });
    await throttle.hit(context, "login", ann);
    await throttle.hit(context, "login", { user });
    await throttle.hit(request(), "login", { user, guard: "none" });
    const realm = null as unknown as string;
    expect(await left({ account: "Ann@example.com", address: HERE }, realm)).toMatchObject({ "account,address": 4 });
    expect(await left({ account: "user 7", address: HERE }, realm)).toMatchObject({ "account,address": 3 });
  });

  test("without guards it is the same, with or without a guard's name; a user without a key is counted by address", async () => {
    const throttle = new Throttle(readThrottleSettings({ limits: { login: LOGIN } }), new MemoryStore(), () => null, {
      error: () => {},
    });
    const left = async (account: string | null) =>
      (await throttle.peek("login", { account, address: HERE })).buckets.map(({ remaining }) => remaining);
    const context = makeContext({ ip: HERE });
    for (const guard of [{}, { guard: "web" }]) {
      await throttle.hit(context, "login", { ...ann, ...guard });
      await throttle.hit(context, "login", { user, ...guard });
    }
    expect([await left("ann@example.com"), await left("user 7")]).toEqual([
      [16, 3],
      [16, 3],
    ]);
    await throttle.hit(context, "login", { user: {} });
    expect(await left(null)).toEqual([15, 4]);
  });

  test("an identifier that no account can have only counts under limits that are not about accounts", async () => {
    const { throttle } = create({ login: LOGIN, export: LOGIN });
    const left = async (limit: LimitName, account: string | null, realm: string | null) =>
      (await throttle.peek(limit, { realm, account, address: HERE })).buckets.map(({ remaining }) => remaining);
    for (const name of ["login", "export"] as const) await throttle.hit(request(), name, { account: "4711" });
    expect([await left("export", "4711", null), await left("export", null, null)]).toEqual([
      [19, 4],
      [19, 5],
    ]);
    expect([await left("login", "4711", null), await left("login", null, null)]).toEqual([
      [19, 5],
      [19, 4],
    ]);
    await throttle.hit(request(), "export", ann);
    expect(await left("export", "ann@example.com", "web export")).toEqual([18, 4]);
  });
});

/** A store with a delay, as if it were in another process. */
class LaterStore implements ThrottleStore {
  readonly #store = new MemoryStore();

  counter(...parts: Parameters<MemoryStore["counter"]>): AttemptCounter {
    const counter = this.#store.counter(...parts);
    const later = () => new Promise((resolve) => setImmediate(resolve));
    return {
      add: (key, cost): Promise<AttemptCount> => later().then(() => counter.add(key, cost)),
      takeBack: (key, cost) =>
        later()
          .then(later)
          .then(() => counter.takeBack(key, cost)),
      get: (key) => counter.get(key),
      delete: (key) => later().then(() => counter.delete(key)),
    };
  }

  close(): void {
    this.#store.close();
  }
}

test("a store's operations are finished before the response is sent", async () => {
  const { throttle, left } = create({ login: LOGIN }, new LaterStore());
  const context = request();
  await throttle.aim(context, "login", ann, true);
  expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 4 });
  await throttle.aim(context, "login", bob);
  expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 5 });
  expect(await left({ ...bob, address: HERE })).toEqual({ address: 19, "account,address": 4 });
  await throttle.giveBack(context, "login");
  expect(await left({ ...bob, address: HERE })).toEqual({ address: 20, "account,address": 5 });
  await throttle.hit(request(), "login", ann);
  await throttle.hit(context, "login", ann);
  await throttle.clear(context, "login", ann);
  expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 5 });
  await throttle.consume("login", { realm: "web login", ...ann, address: HERE });
  await throttle.reset("login", { realm: "web login", ...ann, address: HERE });
  expect(await left({ ...ann, address: HERE })).toEqual({ address: 18, "account,address": 5 });
});

test("an attempt that moves to another account is given back first, so that it does not cause its own refusal", async () => {
  const { throttle } = create({ login: { buckets: [PAIR, { ...ADDRESS, attempts: 1 }] } }, new LaterStore());
  const context = request();
  await throttle.hit(context, "login", bob);
  await throttle.aim(context, "login", ann);
  await expect(throttle.hit(request(), "login", ann)).rejects.toMatchObject({ code: "E_TOO_MANY_REQUESTS" });
});

/** A store that counts, but fails at all other writes, as if its server had gone down in between. */
class HalfStore extends MemoryStore {
  readonly calls: string[] = [];

  override counter(...parts: Parameters<MemoryStore["counter"]>): AttemptCounter {
    const counter = super.counter(...parts);
    const fail = (call: string): Promise<void> => {
      this.calls.push(call);
      throw new Error(`No ${call}: ${this.calls.length}.`);
    };
    return {
      add: (key, cost) => counter.add(key, cost),
      get: (key) => counter.get(key),
      takeBack: () => fail("takeBack"),
      delete: () => fail("delete"),
    };
  }
}

const UNSETTLED = "Attempts could not be given back. They count until their window ends.";

test("S53 a success remains valid if its attempts cannot be given back: that is logged once, and they stay counted", async () => {
  const store = new HalfStore();
  const { throttle, left, logged } = create({ login: LOGIN }, store);
  const context = request();
  await throttle.hit(context, "login", ann);
  await throttle.clear(context, "login", ann);
  // All counts are attempted, and the failures are logged as one.
  expect(store.calls).toEqual(["takeBack", "delete"]);
  expect(logged).toEqual([[{ err: new Error("No takeBack: 1."), limit: "login" }, UNSETTLED]]);
  expect(await left({ ...ann, address: HERE })).toEqual({ address: 19, "account,address": 4 });
  const untried = request();
  await throttle.hit(untried, "login", ann);
  await throttle.giveBack(untried, "login");
  expect(logged.slice(1)).toEqual([[{ err: new Error("No takeBack: 3."), limit: "login" }, UNSETTLED]]);
  expect(await left({ ...ann, address: HERE })).toEqual({ address: 18, "account,address": 3 });
});

test("S53 an attempt that cannot be moved to another account is counted for both", async () => {
  const { throttle, left, logged } = create({ login: LOGIN }, new HalfStore());
  const context = request();
  await throttle.hit(context, "login", bob);
  await throttle.aim(context, "login", ann);
  expect(logged).toHaveLength(1);
  for (const who of [ann, bob])
    expect(await left({ ...who, address: HERE })).toEqual({ address: 18, "account,address": 4 });
});

test("a reset that fails is reported to its caller, and so is a limit that does not exist", async () => {
  const { throttle, logged } = create({ login: LOGIN }, new HalfStore());
  const reset = throttle.reset("login", { realm: "web login", ...ann, address: HERE });
  await expect(reset).rejects.toThrow("No delete: 1.");
  await expect(throttle.clear(request(), "none" as LimitName, ann)).rejects.toMatchObject({
    code: "E_INVALID_CONFIGURATION",
  });
  expect(logged).toEqual([]);
});
