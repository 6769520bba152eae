import { describe, expect, test } from "vitest";
import { throttleConfiguration } from "./configuration.ts";
import { isAccountLimit } from "./default-limits.ts";
import type { ThrottleSettings } from "./settings.ts";

const ADDRESS = { by: ["address"], attempts: 60, windowSeconds: 60 };

/** The limits by name, each bucket as `name by attempts/windowSeconds`. */
function summary(section: Parameters<typeof throttleConfiguration>[0]): Record<string, string[]> {
  const limits = [...throttleConfiguration(section).limits.values()];
  return Object.fromEntries(
    limits.map(({ name, account, buckets }) => [
      account === null ? name : `${name}(${account})`,
      buckets.map((bucket) => `${bucket.name} ${bucket.by.join("+")} ${bucket.attempts}/${bucket.windowSeconds}`),
    ]),
  );
}

/** The message of the error that the settings end the boot with. */
function problem(settings: unknown): string {
  try {
    throttleConfiguration({ THROTTLE: settings });
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
    new_device: ["new_device account 5/3600"],
    email_taken: ["email_taken account 1/3600"],
    api: ["api address 300/60"],
  };

  test("S33 every limit is there, by account and address and by address alone", () => {
    expect(summary(null)).toEqual(DEFAULTS);
    expect(summary({ THROTTLE: {} })).toEqual(DEFAULTS);
    expect(summary({ THROTTLE: { store: "memory", limits: {} } })).toEqual(DEFAULTS);
    expect(throttleConfiguration(null).store).toBeNull();
    expect(throttleConfiguration({ THROTTLE: { store: null } }).store).toBeNull();
    // These are about a guard; the others count by what has nothing to do with one.
    const names = [...throttleConfiguration(null).limits.keys()];
    expect(names.filter((name) => !isAccountLimit(name))).toEqual(["new_device", "email_taken", "api"]);
  });

  test("S33 by address alone is the wider of the two, everywhere", () => {
    for (const { name, buckets } of throttleConfiguration(null).limits.values()) {
      if (["api", "new_device", "email_taken"].includes(name)) continue;
      const [pair, address] = ["account,address", "address"].map((by) => buckets.find((one) => one.by.join() === by)!);
      expect(address!.attempts, name).toBeGreaterThan(pair!.attempts);
    }
  });
});

describe("configured limits", () => {
  test("take the place of the default of their name, and stand besides the others", () => {
    const settings = {
      limits: {
        login: { account: "name", buckets: [{ by: ["account", "address"], attempts: 3, windowSeconds: 30 }] },
        export: { buckets: [{ by: ["address"], attempts: 10, windowSeconds: 3600 }] },
      },
    } satisfies ThrottleSettings;
    const limits = summary({ THROTTLE: settings });
    expect(limits["login(name)"]).toEqual(["login account+address 3/30"]);
    expect(limits["login(email)"]).toBeUndefined();
    expect(limits.export).toEqual(["export address 10/3600"]);
    expect(limits.api).toEqual(["api address 300/60"]);
  });

  test("each bucket has a name of its own, the main one that of the limit", () => {
    const by = ["address", "account"];
    const buckets = [
      { by: ["address"], attempts: 10, windowSeconds: 1 },
      { by: ["address"], attempts: 100, windowSeconds: 60 },
      { by: ["address"], attempts: 1000, windowSeconds: 3600 },
      { by, attempts: 5, windowSeconds: 60 },
    ];
    expect(summary({ THROTTLE: { limits: { export: { buckets } } } }).export).toEqual([
      "export address 10/1",
      "export-address address 100/60",
      "export-address-3600 address 1000/3600",
      "export-account-address account+address 5/60",
    ]);
  });

  test("a limit called as a bucket of another is told apart from it", () => {
    const { limits } = throttleConfiguration({ THROTTLE: { limits: { "login-address": { buckets: [ADDRESS] } } } });
    expect(limits.get("login-address")!.buckets[0]!.name).toBe("login-address-60");
    const names = [...limits.values()].flatMap(({ buckets }) => buckets.map(({ name }) => name));
    expect(new Set(names).size).toBe(names.length);
  });

  test("as many attempts as there can be, in as long a window", () => {
    const buckets = [{ by: ["address"], attempts: 1_000_000, windowSeconds: 86_400 }];
    expect(summary({ THROTTLE: { limits: { export: { buckets } } } }).export).toEqual(["export address 1000000/86400"]);
  });

  test("everything is frozen", () => {
    const configuration = throttleConfiguration(null);
    const login = configuration.limits.get("login")!;
    const parts = [configuration, login, login.buckets, login.buckets[0]!, login.buckets[0]!.by];
    expect(parts.map(Object.isFrozen)).toEqual([true, true, true, true, true]);
  });

  test("a name of every object's prototype is no limit", () => {
    const { limits } = throttleConfiguration(null);
    expect(["constructor", "__proto__", "toString"].map((name) => limits.has(name))).toEqual([false, false, false]);
  });
});

describe("what cannot work ends the boot", () => {
  test("a file without THROTTLE", () => {
    expect(() => throttleConfiguration({ THROTLE: {} })).toThrow(
      "config/throttle.ts: THROTTLE: it is missing. Write export const THROTTLE = { limits: { … } };",
    );
  });

  test.each([[null], [[]], ["memory"], [5], [new Map()]])("THROTTLE is %j", (settings) => {
    expect(problem(settings)).toBe("config/throttle.ts: THROTTLE: is not an object. Write it as { name: value }.");
  });

  test("unknown settings, with the near ones", () => {
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

  test("an unknown store, or what is none", () => {
    const remedy =
      "Write store: databaseStore(), store: memoryStore(), or an object with the methods of ThrottleStore.";
    const where = "config/throttle.ts: THROTTLE.store";
    expect(problem({ store: "memroy" })).toBe(
      `${where}: no store is called "memroy". Did you mean "memory"? ${remedy}`,
    );
    for (const store of [7, true, {}, { counter() {} }, { close() {} }, []]) {
      expect(problem({ store })).toBe(`${where}: it is not a store. ${remedy}`);
    }
  });

  test.each(["", "a b", "a,b", 'a"b', "a:b", "1st", "-a", "é", "__proto__x"])("a limit called %j", (name) => {
    expect(problem({ limits: { [name]: { buckets: [ADDRESS] } } })).toBe(
      `config/throttle.ts: THROTTLE.limits.${name}: is not a name for a limit. Use letters, digits, dots, dashes, underscores.`,
    );
  });

  test.each([[[]], [5], ["login"]])("limits that are %j", (limits) => {
    expect(problem({ limits })).toBe(
      "config/throttle.ts: THROTTLE.limits: is not an object. Write it as { name: limit }.",
    );
  });

  test("another spelling of a default limit, which would leave the default as it is", () => {
    expect(problem({ limits: { passwordReset: { buckets: [ADDRESS] } } })).toBe(
      'config/throttle.ts: THROTTLE.limits.passwordReset: is not a known setting. Did you mean "password_reset"?',
    );
  });

  test("the limit that the token endpoint had to itself, with the one that counts now", () => {
    expect(problem({ limits: { "api.auth": { buckets: [ADDRESS] } } })).toBe(
      'config/throttle.ts: THROTTLE.limits["api.auth"]: it no longer exists: a password has one limit, whichever way it is tried. Set login, which the token endpoint counts by as well.',
    );
  });

  test.each([[undefined], [null], [[]], [5], [[ADDRESS]]])("a limit that is %j", (limit) => {
    expect(problemOfLimit(limit)).toContain("THROTTLE.limits.export: is not an object.");
  });

  test.each([[undefined], [null], [[]], [{}], ["login"]])("buckets that are %j", (buckets) => {
    expect(problemOfLimit({ buckets })).toBe(
      'config/throttle.ts: THROTTLE.limits.export.buckets: it is not a list of buckets. Write [{ by: ["address"], attempts: 60, windowSeconds: 60 }].',
    );
  });

  test.each([[""], [5], [["email"]]])("an account that is %j", (account) => {
    expect(problemOfLimit({ account, buckets: [ADDRESS] })).toContain(
      "export.account: it is not the name of an input.",
    );
  });

  test.each([
    [undefined],
    ["address"],
    [[]],
    [["ip"]],
    [["address", "ip"]],
    [["address", "address"]],
    [["account", "address", "account"]],
  ])("a bucket by %j", (by) => {
    expect(problemOfBucket({ ...ADDRESS, by })).toBe(
      'config/throttle.ts: THROTTLE.limits.export.buckets[0].by: it does not say what is counted by. Write ["account", "address"], ["address"] or ["account"].',
    );
  });

  test.each([undefined, null, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", 1_000_001])(
    "S9 %j attempts",
    (attempts) => {
      expect(problemOfBucket({ ...ADDRESS, attempts })).toContain(
        "attempts: it is not a whole number from 1 to 1000000.",
      );
    },
  );

  test.each([undefined, null, 0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, "60", 86_401])(
    "S9 S33 a window of %j seconds; none is longer than a day",
    (windowSeconds) => {
      expect(problemOfBucket({ ...ADDRESS, windowSeconds })).toContain(
        "windowSeconds: it is not a whole number from 1 to 86400.",
      );
    },
  );

  test("two buckets that are one", () => {
    const buckets = [ADDRESS, ADDRESS, ADDRESS, { ...ADDRESS, attempts: 5 }];
    expect(problemOfLimit({ buckets })).toContain('both are called "export-address-60"');
  });
});
