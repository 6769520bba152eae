import { afterEach, describe, expect, test } from "vitest";
import { makeContext } from "../../test/support/http-context.ts";
import { readThrottleSettings } from "../../test/support/throttle-settings.ts";
import { setClock } from "../support/index.ts";
import type { ThrottleResult } from "./counting/results.ts";
import type { LimitSettings } from "./limits/limit.ts";
import { MemoryStore } from "./stores/memory-store.ts";
import { Throttle } from "./throttle.ts";

const PAIR = { by: ["account", "address"], attempts: 5, windowSeconds: 60 } as const;
const ADDRESS = { by: ["address"], attempts: 20, windowSeconds: 600 } as const;
const ACCOUNT = { by: ["account"], attempts: 8, windowSeconds: 3600 } as const;
const LOGIN: LimitSettings = { account: "email", buckets: [PAIR, ADDRESS] };

const ann = { account: "ann@example.com", address: "203.0.113.7" };

function create(limits: Readonly<Record<string, LimitSettings>> = { login: LOGIN }) {
  const store = new MemoryStore();
  return { throttle: new Throttle(readThrottleSettings({ limits }), store, () => null, { error: () => {} }), store };
}

/** A result without the buckets. */
function outcome({ allowed, limit, remaining, resetInSeconds }: ThrottleResult): unknown[] {
  return [allowed, limit, remaining, resetInSeconds];
}

/** Makes this many attempts concurrently and returns how many passed. */
async function passing(attempts: number, attempt: (index: number) => Promise<ThrottleResult>): Promise<number> {
  const results = await Promise.all(Array.from({ length: attempts }, (_, index) => attempt(index)));
  return results.filter(({ allowed }) => allowed).length;
}

const START = 1_700_000_000_000;
const travel = (seconds: number) => setClock(() => START + seconds * 1000);

afterEach(() => setClock(null));

describe("consume", () => {
  test("counts down, refuses, and lets attempts pass again when the window has ended", async () => {
    travel(0);
    const { throttle } = create({ export: { buckets: [{ by: ["address"], attempts: 2, windowSeconds: 60 }] } });
    const attempt = async () => outcome(await throttle.consume("export", ann));
    expect(await attempt()).toEqual([true, 2, 1, 60]);
    travel(10.5);
    expect(await attempt()).toEqual([true, 2, 0, 50]);
    expect(await attempt()).toEqual([false, 2, 0, 50]);
    travel(59.999);
    expect(await attempt()).toEqual([false, 2, 0, 1]);
    travel(60);
    expect(await attempt()).toEqual([true, 2, 1, 60]);
  });

  test("S33 refused attempts do not extend the window, so a lockout always ends", async () => {
    const { throttle } = create();
    for (let second = 0; second < 60; second++) {
      travel(second);
      expect((await throttle.consume("login", { ...ann, address: `10.0.0.${second}` })).allowed).toBe(true);
      await throttle.consume("login", ann);
    }
    travel(60);
    // The window by address alone is longer, and its 20 attempts are used up.
    expect((await throttle.consume("login", ann)).allowed).toBe(false);
    travel(600);
    expect((await throttle.consume("login", ann)).allowed).toBe(true);
  });

  test("S33 of 200 concurrent attempts exactly 5 pass", async () => {
    const { throttle } = create({ login: { buckets: [PAIR] } });
    expect(await passing(200, () => throttle.consume("login", ann))).toBe(5);
  });

  test("S33 of 200 concurrent attempts exactly 5 pass if several buckets count", async () => {
    const { throttle } = create({ login: { buckets: [PAIR, { ...ADDRESS, attempts: 100 }, ACCOUNT] } });
    expect(await passing(200, () => throttle.consume("login", ann))).toBe(5);
  });

  test("S33 by account and address: the same account elsewhere, and another account here, have their own attempts", async () => {
    const { throttle } = create();
    expect(await passing(10, () => throttle.consume("login", ann))).toBe(5);
    expect(await passing(10, () => throttle.consume("login", { ...ann, address: "203.0.113.8" }))).toBe(5);
    expect(await passing(4, () => throttle.consume("login", { ...ann, account: "bob@example.com" }))).toBe(4);
  });

  test("S33 by address alone: of attempts at many accounts, the larger bucket lets 20 pass", async () => {
    const { throttle } = create();
    const spray = (index: number) => throttle.consume("login", { ...ann, account: `user${index}@example.com` });
    expect(await passing(200, spray)).toBe(20);
    expect((await throttle.consume("login", { ...ann, address: "203.0.113.8" })).allowed).toBe(true);
  });

  test("S33 once an address is refused, made-up accounts create no keys", async () => {
    const { throttle, store } = create();
    for (let index = 0; index < 500; index++) {
      await throttle.consume("login", { ...ann, account: `user${index}@example.com` });
    }
    expect(store.size).toBe(20 + 1);
  });

  test("S33 IPv6 counts by its first 64 bits", async () => {
    const { throttle } = create();
    const from = (network: string) => (index: number) => {
      return throttle.consume("login", {
        account: ann.account,
        address: `2001:db8:0:${network}::${index.toString(16)}`,
      });
    };
    expect(await passing(50, from("a"))).toBe(5);
    expect(await passing(50, from("b"))).toBe(5);
  });

  test("S33 an IPv4-mapped address counts as its IPv4 address", async () => {
    const { throttle } = create();
    const attempt = (index: number) => {
      return throttle.consume("login", { ...ann, address: index % 2 === 0 ? "203.0.113.7" : "::ffff:203.0.113.7" });
    };
    expect(await passing(50, attempt)).toBe(5);
  });

  test("S54 attempts without an address share no bucket", async () => {
    const { throttle } = create();
    const attempt = (index: number) => throttle.consume("login", { account: `user${index}`, address: null });
    expect(await passing(50, attempt)).toBe(50);
  });

  test("an attempt can count for several", async () => {
    const { throttle } = create({ export: { buckets: [{ by: ["address"], attempts: 10, windowSeconds: 60 }] } });
    const costs = [6, 3, 2, 1];
    const results = [];
    for (const cost of costs) results.push(await throttle.consume("export", ann, cost));
    expect(results.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 4],
      [true, 1],
      [false, 0],
      [false, 0],
    ]);
    expect(results.map(({ buckets }) => buckets[0]!.isFirstRefusal)).toEqual([false, false, true, false]);
  });

  test.each([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])("an attempt can't count for %d", async (cost) => {
    const { throttle, store } = create();
    await expect(throttle.consume("login", ann, cost)).rejects.toMatchObject({
      code: "E_INTERNAL",
      message: `An attempt cannot count for ${cost}: cost must be an integer of 1 or more.`,
    });
    expect(store.size).toBe(0);
  });

  test("of several buckets, the one closest to refusing is reported", async () => {
    travel(0);
    const { throttle } = create({ login: { buckets: [PAIR, { ...ADDRESS, attempts: 7 }] } });
    expect(outcome(await throttle.consume("login", ann))).toEqual([true, 5, 4, 60]);
    for (const account of ["b", "c", "d", "e"]) await throttle.consume("login", { ...ann, account });
    expect(outcome(await throttle.consume("login", ann))).toEqual([true, 7, 1, 600]);
  });

  test("of several equally close buckets, the slowest is reported, or the first of the slowest", async () => {
    travel(0);
    const { throttle } = create({ login: { buckets: [PAIR, { ...ADDRESS, attempts: 5 }] } });
    expect(outcome(await throttle.consume("login", ann))).toEqual([true, 5, 4, 600]);
    const other = create({ login: { buckets: [PAIR, { ...ADDRESS, attempts: 5 }, { ...ACCOUNT, attempts: 5 }] } });
    expect(outcome(await other.throttle.consume("login", ann))).toEqual([true, 5, 4, 3600]);
    const alike = create({ login: { buckets: [PAIR, { ...ADDRESS, attempts: 7, windowSeconds: 60 }] } });
    for (const account of ["b", "c"]) await alike.throttle.consume("login", { ...ann, account });
    expect(outcome(await alike.throttle.consume("login", ann))).toEqual([true, 7, 4, 60]);
  });

  test("an unknown limit is an error with suggestions", async () => {
    const { throttle } = create();
    const error = { code: "E_INVALID_CONFIGURATION", status: 500 };
    const message = 'config/throttle.ts: THROTTLE.limits: no limit is called "logn". Did you mean "login"?';
    expect(() => throttle.limit("logn")).toThrow(expect.objectContaining({ ...error, message }));
    // @ts-expect-error there is no such limit
    await expect(throttle.consume("logn", ann)).rejects.toMatchObject({ ...error, message });
    // @ts-expect-error there is no such limit
    await expect(throttle.peek("logn", ann)).rejects.toMatchObject(error);
    // @ts-expect-error there is no such limit
    await expect(throttle.reset("logn", ann)).rejects.toMatchObject(error);
    // @ts-expect-error there is no such limit
    await expect(throttle.hit(makeContext(), "logn")).rejects.toMatchObject(error);
    expect(() => throttle.limit("constructor")).toThrow(expect.objectContaining(error));
  });
});

describe("peek", () => {
  test("reports the remaining attempts without using any up", async () => {
    travel(0);
    const { throttle, store } = create();
    expect(outcome(await throttle.peek("login", ann))).toEqual([true, 5, 5, 0]);
    expect(store.size).toBe(0);
    for (let attempt = 0; attempt < 5; attempt++) await throttle.consume("login", ann);
    travel(20);
    for (let again = 0; again < 3; again++) {
      expect(outcome(await throttle.peek("login", ann))).toEqual([false, 5, 0, 40]);
    }
    expect(outcome(await throttle.peek("login", { ...ann, account: "bob@example.com" }))).toEqual([true, 5, 5, 0]);
  });

  test("reports the remaining attempts of each bucket, and that the last one passes", async () => {
    travel(0);
    const { throttle } = create({
      mail: {
        buckets: [
          { ...PAIR, attempts: 2 },
          { ...ACCOUNT, attempts: 2 },
        ],
      },
    });
    await throttle.consume("mail", ann);
    const common = { allowed: true, remaining: 1, isFirstRefusal: false, isOfNetwork: false };
    const bucket = (name: string) => expect.objectContaining({ name });
    expect((await throttle.peek("mail", ann)).buckets).toEqual([
      { ...common, bucket: bucket("mail"), resetInSeconds: 60, isClientsOwn: true },
      { ...common, bucket: bucket("mail-account"), resetInSeconds: 3600, isClientsOwn: false },
    ]);
  });
});

describe("reset", () => {
  test("S33 gives attempts back to the account, and never to the address", async () => {
    const { throttle } = create();
    for (let login = 0; login < 4; login++) {
      expect(await passing(5, () => throttle.consume("login", ann))).toBe(5);
      await throttle.reset("login", ann);
    }
    // These are 20 attempts from one address, even though its client was able to log in to ann's account.
    expect(outcome(await throttle.peek("login", { ...ann, account: "bob@example.com" })).slice(0, 3)).toEqual([
      false,
      20,
      0,
    ]);
  });

  test("S33 without an account nothing is reset, even though the address was counted instead", async () => {
    const { throttle } = create({ mail: { buckets: [PAIR, { ...ACCOUNT, attempts: 6 }] } });
    const guest = { account: null, address: ann.address };
    expect(await passing(10, () => throttle.consume("mail", guest))).toBe(5);
    for (const account of [null, "", " "]) await throttle.reset("mail", { ...guest, account });
    expect((await throttle.peek("mail", guest)).allowed).toBe(false);
  });

  test("affects neither other accounts, nor the same account at other addresses", async () => {
    const { throttle } = create();
    const others = [
      { ...ann, account: "bob@example.com" },
      { ...ann, address: "203.0.113.8" },
    ];
    for (const keys of [ann, ...others]) await throttle.consume("login", keys, 5);
    await throttle.reset("login", ann);
    const allowed = await Promise.all(
      [ann, ...others].map(async (keys) => (await throttle.peek("login", keys)).allowed),
    );
    expect(allowed).toEqual([true, false, false]);
  });

  test("another spelling of the account is the same account", async () => {
    const { throttle } = create();
    await throttle.consume("login", ann, 5);
    await throttle.reset("login", { ...ann, account: " ANN@example.com " });
    expect((await throttle.peek("login", ann)).allowed).toBe(true);
  });
});
