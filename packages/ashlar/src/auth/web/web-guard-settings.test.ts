import { describe, expect, test } from "vitest";
import { databaseLogins } from "../logins/database/database-logins.ts";
import { readWebGuardSettings } from "./web-guard-settings.ts";

const HTTP = { isHttps: false, suffix: "" };
const HTTPS = { isHttps: true, suffix: "" };

const MINUTE = 60_000;

test("options that are left out have defaults", () => {
  expect(readWebGuardSettings("web", {}, HTTP)).toEqual({
    cookie: "token",
    domain: null,
    formerCookie: null,
    idleMs: 120 * MINUTE,
    maxPerUser: 100,
    logins: expect.any(Function),
    absoluteMs: 720 * MINUTE,
    rememberMs: 43_200 * MINUTE,
  });
});

test("the options are minutes, and the result is frozen", () => {
  const options = readWebGuardSettings("web", { idleMinutes: 5, absoluteMinutes: 60, rememberMinutes: 1440 }, HTTP);
  expect(options).toMatchObject({ idleMs: 5 * MINUTE, absoluteMs: 60 * MINUTE, rememberMs: 1440 * MINUTE });
  expect(Object.isFrozen(options)).toBe(true);
});

test("a lifetime is at least a minute, and at most 400 days", () => {
  const options = { idleMinutes: 1, absoluteMinutes: 2, rememberMinutes: 576_000 };
  expect(readWebGuardSettings("web", options, HTTP)).toMatchObject({ idleMs: MINUTE, rememberMs: 576_000 * MINUTE });
});

test("an idle lifetime and an absolute one can each be set alone", () => {
  expect(readWebGuardSettings("web", { absoluteMinutes: 10 }, HTTP)).toMatchObject({
    idleMs: 10 * MINUTE,
    absoluteMs: 10 * MINUTE,
  });
  expect(readWebGuardSettings("web", { idleMinutes: 1000 }, HTTP)).toMatchObject({
    idleMs: 1000 * MINUTE,
    absoluteMs: 1000 * MINUTE,
  });
});

describe("the cookie", () => {
  test.each([
    ["web", {}, false, "token"],
    ["web", {}, true, "__Host-token"],
    ["staff", {}, false, "staff_token"],
    ["staff", {}, true, "__Host-staff_token"],
    ["staff", { cookie: "desk" }, true, "__Host-desk"],
    ["staff", { cookie: "x".repeat(64) }, false, "x".repeat(64)],
  ])("S20 of the guard %s with %j, https: %s, is %s", (guard, options, isHttps, cookie) => {
    expect(readWebGuardSettings(guard, options, isHttps ? HTTPS : HTTP).cookie).toBe(cookie);
  });

  test.each(["a b", "a=b", "a;b", "tökén", "a\r\nb", "x".repeat(65), 1, ["token"]])(
    "S25 cannot be named %j",
    (cookie) => {
      expect(() => readWebGuardSettings("web", { cookie }, HTTP)).toThrow(
        /GUARDS\.web\.cookie: is (?:not valid|a number|a list)\. Write letters, digits, "-" and "_": "token", or leave it out\.$/,
      );
    },
  );

  test.each([[""], [null], [undefined]])("has its usual name if the option is %j", (cookie) => {
    expect(readWebGuardSettings("staff", { cookie }, HTTP).cookie).toBe("staff_token");
  });

  test.each(["__Host-token", "__Secure-token", "__token"])("cannot be set with a prefix: %s", (cookie) => {
    expect(() => readWebGuardSettings("web", { cookie }, HTTPS)).toThrow("GUARDS.web.cookie: has a prefix.");
  });

  test("a guard whose name cannot be part of a cookie's name has to name its cookie", () => {
    expect(() => readWebGuardSettings("the staff", {}, HTTP)).toThrow("GUARDS.the staff.cookie");
    expect(readWebGuardSettings("the staff", { cookie: "staff" }, HTTP).cookie).toBe("staff");
  });
});

describe("startup failures", () => {
  const lifetimes = ["idleMinutes", "absoluteMinutes", "rememberMinutes"];
  const values = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "60", 576_001, Number.MAX_SAFE_INTEGER];
  test.each(lifetimes.flatMap((name) => values.map((value) => [name, value] as const)))("S21 %s: %s", (name, value) => {
    expect(() => readWebGuardSettings("web", { [name]: value }, HTTP)).toThrow(
      expect.objectContaining({
        code: "E_INVALID_CONFIGURATION",
        message: expect.stringMatching(
          new RegExp(
            `^config/auth\\.ts: GUARDS\\.web\\.${name}: is .*Write a whole number of minutes from 1 to 576000`,
          ),
        ),
      }),
    );
  });

  test.each([0, -1, 1.5, 10_001, "5", Number.NaN])("maxPerUser: %s", (maxPerUser) => {
    expect(() => readWebGuardSettings("web", { maxPerUser }, HTTP)).toThrow(
      /^config\/auth\.ts: GUARDS\.web\.maxPerUser: is .*Write a whole number from 1 to 10000/,
    );
  });

  test("an idle lifetime that is longer than the absolute one", () => {
    expect(() => readWebGuardSettings("web", { idleMinutes: 61, absoluteMinutes: 60 }, HTTP)).toThrow(
      "idleMinutes (61) is more than absoluteMinutes (60).",
    );
  });

  test("a remembered login that ends sooner than an ordinary one", () => {
    expect(() => readWebGuardSettings("web", { rememberMinutes: 720 }, HTTP)).toThrow(
      "rememberMinutes (720) is not more than absoluteMinutes (720).",
    );
  });

  test("an unknown option, with a suggestion", () => {
    expect(() => readWebGuardSettings("web", { idleMinuts: 5 }, HTTP)).toThrow(
      'config/auth.ts: GUARDS.web.idleMinuts: is not a known setting. Did you mean "idleMinutes"?',
    );
    for (const [wrong, right] of [
      ["modle", "model"],
      ["drvier", "driver"],
      ["ruotes", "routes"],
      ["cokie", "cookie"],
      ["absolutMinutes", "absoluteMinutes"],
      ["remeberMinutes", "rememberMinutes"],
    ] as const) {
      expect(() => readWebGuardSettings("web", { [wrong]: null }, HTTP)).toThrow(`Did you mean "${right}"?`);
    }
  });
});

test("logins is a store, or a function that creates one", () => {
  const logins = databaseLogins();
  expect(readWebGuardSettings("web", { logins }, HTTP).logins).toBe(logins);
  expect(readWebGuardSettings("web", { logins: null }, HTTP)).toEqual(readWebGuardSettings("web", {}, HTTP));
  for (const odd of ["database", {}, { find() {} }]) {
    expect(() => readWebGuardSettings("web", { logins: odd }, HTTP)).toThrow(
      /GUARDS\.web\.logins: is (?:text|an object)\. Write databaseLogins\(\), or a LoginStore, or leave it out\.$/,
    );
  }
});

test.each(["driverr", "modell", "route", "stepz"])(
  "the closest name is suggested for the misspelled option %s",
  (name) => {
    const near = { driverr: "driver", modell: "model", route: "routes", stepz: "steps" }[name];
    expect(() => readWebGuardSettings("web", { [name]: 1 }, HTTP)).toThrow(`Did you mean "${near}"?`);
  },
);
