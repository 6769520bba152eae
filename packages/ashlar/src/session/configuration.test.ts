import { describe, expect, test } from "vitest";
import { AshlarError } from "../support/index.ts";
import { sessionConfiguration } from "./configuration.ts";

const HTTPS = "https://shop.example";

/** The message that a configuration is refused with. */
function refusal(session: unknown, url: string | null = null): string {
  try {
    sessionConfiguration(session, url);
  } catch (error) {
    if (error instanceof AshlarError && error.code === "E_INVALID_CONFIGURATION") return error.message;
    throw error;
  }
  return "it was accepted";
}

describe("what is left out", () => {
  test("everything has a default", () => {
    expect(sessionConfiguration(undefined, null)).toEqual({
      driver: "cookie",
      cookie: "session",
      lifetimeMinutes: 120,
      absoluteMinutes: 1440,
      sameSite: "lax",
    });
  });

  test("S20 the cookie is bound to its host where the application is reached over https", () => {
    expect(sessionConfiguration({}, HTTPS).cookie).toBe("__Host-session");
    expect(sessionConfiguration({}, "http://localhost:3000").cookie).toBe("session");
    expect(sessionConfiguration({ cookie: "visit" }, HTTPS).cookie).toBe("__Host-visit");
    expect(sessionConfiguration({ cookie: "visit" }, "http://localhost:3000").cookie).toBe("visit");
    expect(sessionConfiguration({ cookie: "__Secure-visit" }, HTTPS).cookie).toBe("__Secure-visit");
    expect(sessionConfiguration({ cookie: "my__Host-visit" }, HTTPS).cookie).toBe("__Host-my__Host-visit");
    expect(sessionConfiguration({ cookie: "my__Host-visit" }, null).cookie).toBe("my__Host-visit");
  });

  test("null, undefined and empty text count as left out", () => {
    const blank = { driver: "", cookie: null, lifetimeMinutes: undefined, absoluteMinutes: null, sameSite: "" };
    expect(sessionConfiguration(blank, null)).toEqual(sessionConfiguration(undefined, null));
  });

  test("a session that may idle for longer than a day may last as long", () => {
    expect(sessionConfiguration({ lifetimeMinutes: 5000 }, null).absoluteMinutes).toBe(5000);
  });
});

describe("what is given", () => {
  test("S21 a lifetime can be a single minute, and a whole year", () => {
    const { lifetimeMinutes, absoluteMinutes } = sessionConfiguration(
      { lifetimeMinutes: 1, absoluteMinutes: 525_600 },
      null,
    );
    expect([lifetimeMinutes, absoluteMinutes]).toEqual([1, 525_600]);
  });

  test("it is kept, and frozen", () => {
    const session = {
      driver: "database",
      cookie: "visit",
      lifetimeMinutes: 5,
      absoluteMinutes: 60,
      sameSite: "strict",
    };
    const configuration = sessionConfiguration(session, null);
    expect(configuration).toEqual(session);
    expect(Object.isFrozen(configuration)).toBe(true);
  });

  test("SameSite=None goes with https", () => {
    expect(sessionConfiguration({ sameSite: "none" }, HTTPS).sameSite).toBe("none");
  });
});

describe("what is refused", () => {
  test.each<[unknown, string]>([
    ["cookie", 'config/session.ts: SESSION: is not an object. Write it as { driver: "cookie" }.'],
    [[], 'config/session.ts: SESSION: is not an object. Write it as { driver: "cookie" }.'],
    [{ lifetime: 5 }, 'config/session.ts: SESSION.lifetime: is not a known setting. Did you mean "lifetimeMinutes"?'],
    [{ drivr: "cookie" }, 'config/session.ts: SESSION.drivr: is not a known setting. Did you mean "driver"?'],
    [{ driver: "redis" }, 'config/session.ts: SESSION.driver: is "redis". It can be "cookie", "database".'],
    [{ sameSite: false }, 'config/session.ts: SESSION.sameSite: is false. It can be "lax", "strict", "none".'],
    [
      { sameSite: "none" },
      'config/session.ts: SESSION.sameSite: is "none", which browsers take over https alone. Set APP_URL to an https address, or leave it out.',
    ],
    [{ driver: () => "cookie" }, 'config/session.ts: SESSION.driver: is function. It can be "cookie", "database".'],
    [{ cookie: "a b" }, 'config/session.ts: SESSION.cookie: cannot be the name of a cookie. Write cookie: "session".'],
    [
      { cookie: "a=b;c" },
      'config/session.ts: SESSION.cookie: cannot be the name of a cookie. Write cookie: "session".',
    ],
    [{ cookie: 7 }, 'config/session.ts: SESSION.cookie: cannot be the name of a cookie. Write cookie: "session".'],
    [
      { cookie: "__Host-s" },
      'config/session.ts: SESSION.cookie: is "__Host-s", which browsers take over https alone. Set APP_URL to an https address, or leave the name out.',
    ],
    [
      { lifetimeMinutes: 60, absoluteMinutes: 30 },
      "config/session.ts: SESSION.absoluteMinutes: is less than lifetimeMinutes, so that the latter would mean nothing. Set it to 60 or more.",
    ],
  ])("%j", (session, message) => {
    expect(refusal(session)).toBe(message);
  });

  test.each([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 525_601, "120", true, []])(
    "S21 a lifetime of %j",
    (minutes) => {
      const problem = "is not a whole number of minutes from 1 to 525600. Leave it out for";
      expect(refusal({ lifetimeMinutes: minutes })).toBe(`config/session.ts: SESSION.lifetimeMinutes: ${problem} 120.`);
      expect(refusal({ absoluteMinutes: minutes })).toBe(
        `config/session.ts: SESSION.absoluteMinutes: ${problem} 1440.`,
      );
    },
  );
});
