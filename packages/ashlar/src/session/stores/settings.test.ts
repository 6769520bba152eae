import { describe, expect, test } from "vitest";
import { AshlarError } from "../../support/index.ts";
import { readSessionSettings } from "./settings.ts";

const HTTPS = "https://shop.example";

/** The error message for a configuration. */
function refusal(session: unknown, url: string | null = null): string {
  try {
    readSessionSettings(session, url);
  } catch (error) {
    if (error instanceof AshlarError && error.code === "E_INVALID_CONFIGURATION") return error.message;
    throw error;
  }
  return "it was accepted";
}

describe("missing settings", () => {
  test("everything has a default", () => {
    expect(readSessionSettings(undefined, null)).toEqual({
      store: "cookie",
      cookie: "session",
      domain: null,
      lifetimeMinutes: 120,
      absoluteMinutes: 1440,
      sameSite: "lax",
    });
  });

  test("S20 the cookie is bound to its host if the application is reached over https", () => {
    expect(readSessionSettings({}, HTTPS).cookie).toBe("__Host-session");
    expect(readSessionSettings({}, "http://localhost:3000").cookie).toBe("session");
    expect(readSessionSettings({ cookie: "visit" }, HTTPS).cookie).toBe("__Host-visit");
    expect(readSessionSettings({ cookie: "visit" }, "http://localhost:3000").cookie).toBe("visit");
    expect(readSessionSettings({ cookie: "__Secure-visit" }, HTTPS).cookie).toBe("__Secure-visit");
    expect(readSessionSettings({ cookie: "my__Host-visit" }, HTTPS).cookie).toBe("__Host-my__Host-visit");
    expect(readSessionSettings({ cookie: "my__Host-visit" }, null).cookie).toBe("my__Host-visit");
  });

  test("null, undefined and empty text count as left out", () => {
    const blank = { store: "", cookie: null, lifetimeMinutes: undefined, absoluteMinutes: null, sameSite: "" };
    expect(readSessionSettings(blank, null)).toEqual(readSessionSettings(undefined, null));
  });

  test("if a session may be idle for longer than a day, it may last just as long", () => {
    expect(readSessionSettings({ lifetimeMinutes: 5000 }, null).absoluteMinutes).toBe(5000);
  });
});

describe("given settings", () => {
  test("S21 a lifetime can be a single minute, and a whole year", () => {
    const { lifetimeMinutes, absoluteMinutes } = readSessionSettings(
      { lifetimeMinutes: 1, absoluteMinutes: 525_600 },
      null,
    );
    expect([lifetimeMinutes, absoluteMinutes]).toEqual([1, 525_600]);
  });

  test("they are kept, and frozen", () => {
    const session = {
      store: "database",
      cookie: "visit",
      lifetimeMinutes: 5,
      absoluteMinutes: 60,
      sameSite: "strict",
    };
    const configuration = readSessionSettings(session, null);
    expect(configuration).toEqual({ ...session, domain: null, store: expect.any(Function) });
    expect(Object.isFrozen(configuration)).toBe(true);
  });

  test("SameSite=None works with https", () => {
    expect(readSessionSettings({ sameSite: "none" }, HTTPS).sameSite).toBe("none");
  });
});

describe("refused settings", () => {
  const STORE = { maxBytes: 1, read() {}, create() {}, update() {}, destroy() {}, close() {} };

  test("an object with all that a store needs is kept", () => {
    expect(readSessionSettings({ store: STORE }, null).store).toBe(STORE);
  });

  test.each([...Object.keys(STORE), "everything else"])("a store without %s is an error", (missing) => {
    const store = missing in STORE ? { ...STORE, [missing]: undefined } : { read() {}, maxBytes: 1 };
    expect(refusal({ store })).toBe(
      "config/session.ts: SESSION.store: is an object. Write cookieSessions(), databaseSessions(), or an object with the methods of SessionStore, or leave it out.",
    );
  });

  test.each<[unknown, string]>([
    ["cookie", "config/session.ts: SESSION: is text. Write an object: { store: … }."],
    [[], "config/session.ts: SESSION: is a list. Write an object: { store: … }."],
    [{ lifetime: 5 }, 'config/session.ts: SESSION.lifetime: is not a known setting. Did you mean "lifetimeMinutes"?'],
    [{ stor: "cookie" }, 'config/session.ts: SESSION.stor: is not a known setting. Did you mean "store"?'],
    [
      { store: "redis" },
      'config/session.ts: SESSION.store: is "redis". Write cookieSessions(), databaseSessions(), or an object with the methods of SessionStore, or leave it out.',
    ],
    [
      { sameSite: false },
      'config/session.ts: SESSION.sameSite: is false. Write "lax", "strict" or "none", or leave it out for "lax".',
    ],
    [
      { sameSite: "none" },
      'config/session.ts: SESSION.sameSite: is "none", which browsers accept only over https. Set APP_URL to an https address, or leave it out.',
    ],
    [
      { store: { read() {} } },
      "config/session.ts: SESSION.store: is an object. Write cookieSessions(), databaseSessions(), or an object with the methods of SessionStore, or leave it out.",
    ],
    [
      { store: "databse" },
      'config/session.ts: SESSION.store: is "databse". Did you mean "database"? Write cookieSessions(), databaseSessions(), or an object with the methods of SessionStore, or leave it out.',
    ],
    [
      { driver: "database" },
      "config/session.ts: SESSION.driver: is no longer a setting. Write store: cookieSessions(), or store: databaseSessions().",
    ],
    [
      { cookie: "a b" },
      'config/session.ts: SESSION.cookie: is not valid. Write the name of a cookie, such as "visit", or leave it out for "session".',
    ],
    [
      { cookie: "a=b;c" },
      'config/session.ts: SESSION.cookie: is not valid. Write the name of a cookie, such as "visit", or leave it out for "session".',
    ],
    [
      { cookie: 7 },
      'config/session.ts: SESSION.cookie: is a number. Write the name of a cookie, such as "visit", or leave it out for "session".',
    ],
    [
      { cookie: "__Host-s" },
      'config/session.ts: SESSION.cookie: is "__Host-s", which browsers accept only over https. Set APP_URL to an https address, or leave it out.',
    ],
    [
      { lifetimeMinutes: 60, absoluteMinutes: 30 },
      "config/session.ts: SESSION.absoluteMinutes: is less than lifetimeMinutes, so lifetimeMinutes would have no effect. Set it to 60 or more.",
    ],
  ])("%j", (session, message) => {
    expect(refusal(session)).toBe(message);
  });

  test.each([
    [0, "0"],
    [-1, "-1"],
    [0.5, "0.5"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [525_601, "525601"],
    ["120", '"120"'],
    [true, "true"],
    [[], "[]"],
  ])("S21 a lifetime of %j", (minutes, shown) => {
    const problem = `is ${shown}. Write a whole number of minutes from 1 to 525600, or leave it out`;
    expect(refusal({ lifetimeMinutes: minutes })).toBe(
      `config/session.ts: SESSION.lifetimeMinutes: ${problem} for 120.`,
    );
    expect(refusal({ absoluteMinutes: minutes })).toBe(`config/session.ts: SESSION.absoluteMinutes: ${problem}.`);
  });
});
