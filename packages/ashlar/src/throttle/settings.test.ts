import { describe, expect, test } from "vitest";
import { readThrottleSettings } from "../../test/support/throttle-settings.ts";
import type { ThrottleSettings } from "./settings.ts";

const ADDRESS = { by: ["address"], attempts: 60, windowSeconds: 60 };

/** The limits by name, with each bucket as `name by attempts/windowSeconds`. */
function summary(throttle: unknown): Record<string, string[]> {
  const limits = [...readThrottleSettings(throttle).limits.values()];
  return Object.fromEntries(
    limits.map(({ name, account, buckets }) => [
      account === null ? name : `${name}(${account})`,
      buckets.map((bucket) => `${bucket.name} ${bucket.by.join("+")} ${bucket.attempts}/${bucket.windowSeconds}`),
    ]),
  );
}

/** The startup error's message. */
function problem(settings: unknown): string {
  try {
    readThrottleSettings(settings);
  } catch (error) {
    expect(error).toMatchObject({ code: "E_INVALID_CONFIGURATION", status: 500 });
    return (error as Error).message;
  }
  throw new Error("The settings were accepted.");
}

const problemOfLimit = (limit: unknown) => problem({ limits: { export: limit } });
const problemOfBucket = (bucket: unknown) => problemOfLimit({ buckets: [bucket] });

describe("without any configuration", () => {
  const DEFAULTS = {
    "login(email)": ["login account+address 5/300", "login-address address 100/900"],
    "api.reauth": ["api.reauth account+address 10/60", "api.reauth-address address 120/60"],
    "register(email)": ["register account+address 10/3600", "register-address address 60/3600"],
    "password_reset(token)": ["password_reset account+address 10/900", "password_reset-address address 30/900"],
    "password_reset.show(token)": [
      "password_reset.show account+address 30/900",
      "password_reset.show-address address 60/900",
    ],
    "change_password(email)": [
      "change_password account+address 5/900",
      "change_password-address address 30/900",
      "change_password-account account 10/3600",
    ],
    "email.undo": ["email.undo account+address 10/900", "email.undo-address address 30/900"],
    "email.resend": [
      "email.resend account+address 5/900",
      "email.resend-address address 30/900",
      "email.resend-account account 10/3600",
    ],
    "logins.destroy_others": ["logins.destroy_others account 5/900"],
    "login.account": ["login.account account 100/3600", "login.account-account account 200/86400"],
    "login.account.slow": ["login.account.slow account 1/600"],
    "login.device": ["login.device account 1/86400"],
    "login.device.again": ["login.device.again account 1/60"],
    guesses: ["guesses account 1/86400"],
    "guesses.check": ["guesses.check account 1/60"],
    "login.step": ["login.step account 5/900", "login.step-account account 20/86400"],
    "login.step.total": ["login.step.total account 40/86400"],
    new_device: ["new_device account 5/3600"],
    personal_tokens: ["personal_tokens account 30/3600"],
    email_taken: ["email_taken account 1/3600"],
    api: ["api address 300/60"],
  };

  test("S33 every limit exists, by account and address and by address alone", () => {
    expect(summary(null)).toEqual(DEFAULTS);
    expect(summary({})).toEqual(DEFAULTS);
    expect(summary({ store: "memory", limits: {} })).toEqual(DEFAULTS);
    expect(readThrottleSettings(null).store).toBeNull();
    expect(readThrottleSettings({ store: null }).store).toBeNull();
    // These depend on a guard. The others count by something unrelated to guards.
    const others = [...readThrottleSettings(null).limits.values()].filter(({ ofAccounts }) => !ofAccounts);
    expect(others.map(({ name }) => name).toSorted()).toEqual([
      "api",
      "email_taken",
      "guesses",
      "guesses.check",
      "login.device",
      "login.device.again",
      "new_device",
    ]);
  });

  test("S33 the limit by address alone is always the higher of the two", () => {
    for (const { name, buckets } of readThrottleSettings(null).limits.values()) {
      // The limits that don't count by both account and address.
      if (name === "api" || buckets.every(({ by }) => by.join() === "account")) continue;
      const [pair, address] = ["account,address", "address"].map((by) => buckets.find((one) => one.by.join() === by)!);
      expect(address!.attempts, name).toBeGreaterThan(pair!.attempts);
    }
  });
});

describe("configured limits", () => {
  test("replace the default with their name, or are added to the others", () => {
    const settings = {
      limits: {
        login: { account: "name", buckets: [{ by: ["account", "address"], attempts: 3, windowSeconds: 30 }] },
        export: { buckets: [{ by: ["address"], attempts: 10, windowSeconds: 3600 }] },
      },
    } satisfies ThrottleSettings;
    const limits = summary(settings);
    expect(limits["login(name)"]).toEqual(["login account+address 3/30"]);
    expect(limits["login(email)"]).toBeUndefined();
    expect(limits.export).toEqual(["export address 10/3600"]);
    expect(limits.api).toEqual(["api address 300/60"]);
  });

  test("each bucket has its own name, and the main bucket has the limit's name", () => {
    const by = ["address", "account"];
    const buckets = [
      { by: ["address"], attempts: 10, windowSeconds: 1 },
      { by: ["address"], attempts: 100, windowSeconds: 60 },
      { by: ["address"], attempts: 1000, windowSeconds: 3600 },
      { by, attempts: 5, windowSeconds: 60 },
    ];
    expect(summary({ limits: { export: { buckets } } }).export).toEqual([
      "export address 10/1",
      "export-address address 100/60",
      "export-address-3600 address 1000/3600",
      "export-account-address account+address 5/60",
    ]);
  });

  test("a limit with the name of another's bucket is distinguished from it", () => {
    const { limits } = readThrottleSettings({ limits: { "login-address": { buckets: [ADDRESS] } } });
    expect(limits.get("login-address")!.buckets[0]!.name).toBe("login-address-60");
    const names = [...limits.values()].flatMap(({ buckets }) => buckets.map(({ name }) => name));
    expect(new Set(names).size).toBe(names.length);
  });

  test("the maximum of attempts, in the longest window", () => {
    const buckets = [{ by: ["address"], attempts: 1_000_000, windowSeconds: 86_400 }];
    expect(summary({ limits: { export: { buckets } } }).export).toEqual(["export address 1000000/86400"]);
  });

  test("everything is frozen", () => {
    const configuration = readThrottleSettings(null);
    const login = configuration.limits.get("login")!;
    const parts = [configuration, login, login.buckets, login.buckets[0]!, login.buckets[0]!.by];
    expect(parts.map(Object.isFrozen)).toEqual([true, true, true, true, true]);
  });

  test("a name from every object's prototype is not a limit", () => {
    const { limits } = readThrottleSettings(null);
    expect(["constructor", "__proto__", "toString"].map((name) => limits.has(name))).toEqual([false, false, false]);
  });
});

describe("invalid settings make startup fail", () => {
  test.each([
    [[], "a list"],
    ["memory", "text"],
    [5, "a number"],
    [new Map(), "an instance of Map"],
  ])("THROTTLE is %j", (settings, shown) => {
    expect(problem(settings)).toBe(`config/throttle.ts: THROTTLE: is ${shown}. Write an object: { store: … }.`);
  });

  test("unknown settings, with suggestions", () => {
    expect(problem({ limit: {} })).toBe(
      'config/throttle.ts: THROTTLE.limit: is not a known setting. Did you mean "limits"?',
    );
    expect(problemOfLimit({ bucket: [] })).toBe(
      'config/throttle.ts: THROTTLE.limits.export.bucket: is not a known setting. Did you mean "buckets"?',
    );
    expect(problemOfBucket({ ...ADDRESS, windowSecond: 5 })).toBe(
      'config/throttle.ts: THROTTLE.limits.export.buckets[0].windowSecond: is not a known setting. Did you mean "windowSeconds"?',
    );
  });

  test("an unknown store, or something that is not a store", () => {
    const remedy = "Write databaseStore(), memoryStore(), or an object with the methods of ThrottleStore";
    const where = "config/throttle.ts: THROTTLE.store";
    expect(problem({ store: "memroy" })).toBe(
      `${where}: is "memroy". Did you mean "memory"? ${remedy}, or leave it out.`,
    );
    for (const [store, shown] of [
      [7, "7"],
      [true, "true"],
      [{}, "an object"],
      [{ counter() {} }, "an object"],
      [{ close() {} }, "an object"],
      [[], "[]"],
    ]) {
      expect(problem({ store })).toBe(`${where}: is ${shown}. ${remedy}, or leave it out.`);
    }
  });

  test.each([
    ["campus", 20, "is neither an address nor a range of addresses. Write it in CIDR notation"],
    ["198.51.100.0/33", 20, "is neither an address nor a range of addresses. Write it in CIDR notation"],
    [
      "0.0.0.0/0",
      20,
      "is larger than the network of any site or provider. List the networks one by one, each /8 or smaller.",
    ],
    [
      "2000::/3",
      20,
      "is larger than the network of any site or provider. List the networks one by one, each /16 or smaller.",
    ],
    ["198.51.100.0/24", 1, "is 1. Write a whole number from 2 to 1000."],
    ["198.51.100.0/24", "20", 'is "20". Write a whole number from 2 to 1000.'],
  ])("S202 a shared network %s with %j times the attempts", (network, times, message) => {
    expect(problem({ sharedNetworks: { [network]: times } })).toContain(
      `config/throttle.ts: THROTTLE.sharedNetworks.${network}: ${message}`,
    );
  });

  test.each(["", "a b", "a,b", 'a"b', "a:b", "1st", "-a", "é", "__proto__x"])("a limit called %j", (name) => {
    expect(problem({ limits: { [name]: { buckets: [ADDRESS] } } })).toBe(
      `config/throttle.ts: THROTTLE.limits.${name}: is not a valid name for a limit. Begin with a letter; use letters, digits, dots, dashes and underscores.`,
    );
  });

  test.each([
    [[], "a list"],
    [5, "a number"],
    ["login", "text"],
  ])("limits that are %j", (limits, shown) => {
    expect(problem({ limits })).toBe(`config/throttle.ts: THROTTLE.limits: is ${shown}. Write an object: { name: … }.`);
  });

  test("another spelling of a default limit, which would leave the default unchanged", () => {
    expect(problem({ limits: { passwordReset: { buckets: [ADDRESS] } } })).toBe(
      'config/throttle.ts: THROTTLE.limits.passwordReset: is not a known setting. Did you mean "password_reset"?',
    );
  });

  test("the former limit of the token endpoint, with the current one in the message", () => {
    expect(problem({ limits: { "api.auth": { buckets: [ADDRESS] } } })).toBe(
      "config/throttle.ts: THROTTLE.limits.api.auth: is no longer a limit: every way of trying a password counts under the same limit. Set login instead, which also covers the token endpoint.",
    );
  });

  test.each([
    [undefined, ".buckets: is missing."],
    [null, ".buckets: is missing."],
    [[], ": is a list. Write an object: { account: … }."],
    [5, ": is a number. Write an object: { account: … }."],
    [[ADDRESS], ": is a list. Write an object: { account: … }."],
  ])("a limit that is %j", (limit, message) => {
    expect(problemOfLimit(limit)).toContain(`THROTTLE.limits.export${message}`);
  });

  test.each([
    [undefined, "missing"],
    [null, "missing"],
    [[], "a list"],
    [{}, "an object"],
    ["login", "text"],
  ])("buckets that are %j", (buckets, shown) => {
    expect(problemOfLimit({ buckets })).toBe(
      `config/throttle.ts: THROTTLE.limits.export.buckets: is ${shown}. Write a list of buckets: [{ by: ["address"], attempts: 60, windowSeconds: 60 }].`,
    );
  });

  test.each([
    [5, "a number"],
    [["email"], "a list"],
  ])("an account that is %j", (account, shown) => {
    expect(problemOfLimit({ account, buckets: [ADDRESS] })).toContain(
      `export.account: is ${shown}. Write text in quotes: "…", or leave it out.`,
    );
  });

  test.each([[""], [null], [undefined]])("an account that is %j counts as missing", (account) => {
    const { limits } = readThrottleSettings({ limits: { export: { account, buckets: [ADDRESS] } } });
    expect(limits.get("export")!.account).toBeNull();
  });

  test.each([
    [undefined, "missing"],
    ["address", '"address"'],
    [[], "[]"],
    [["ip"], '["ip"]'],
    [["address", "ip"], '["address", "ip"]'],
    [["address", "address"], '["address", "address"]'],
    [["account", "address", "account"], '["account", "address", "account"]'],
  ])("a bucket by %j", (by, shown) => {
    expect(problemOfBucket({ ...ADDRESS, by })).toBe(
      `config/throttle.ts: THROTTLE.limits.export.buckets[0].by: is ${shown}. Write ["account", "address"], ["address"] or ["account"].`,
    );
  });

  test.each([undefined, null, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", 1_000_001])(
    "S9 %j attempts",
    (attempts) => {
      expect(problemOfBucket({ ...ADDRESS, attempts })).toMatch(
        /attempts: is [^.]*\.?[^.]*\. Write a whole number from 1 to 1000000\.$/,
      );
    },
  );

  test.each([undefined, null, 0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, "60", 86_401])(
    "S9 S33 a window of %j seconds; none is longer than a day",
    (windowSeconds) => {
      expect(problemOfBucket({ ...ADDRESS, windowSeconds })).toMatch(
        /windowSeconds: is [^.]*\.?[^.]*\. Write a whole number of seconds from 1 to 86400\.$/,
      );
    },
  );

  test("two identical buckets", () => {
    const buckets = [ADDRESS, ADDRESS, ADDRESS, { ...ADDRESS, attempts: 5 }];
    expect(problemOfLimit({ buckets })).toMatch(
      /^config\/throttle\.ts: THROTTLE\.limits\.export\.buckets\[3\]: .* both are called "export-address-60"/,
    );
  });
});
