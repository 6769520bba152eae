import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { makeContext } from "../../../test/support/http-context.ts";
import type { HttpContext } from "../../http/index.ts";
import { now, setClock } from "../../support/index.ts";
import { deviceName, KnownDevices } from "./devices.ts";

const HTTP = { isHttps: false, suffix: "" };
const HTTPS = { isHttps: true, suffix: "" };

const KEY = "a key of the application, with 32 bytes and more";
const DAY = 86_400_000;
/** The cookie of a browser in which user 1 of the guard web logged in at noon on June 1, 2026 (UTC), under the key. */
const WRITTEN =
  "device=MVhqcDlOVDBZUTdGME1yNFJWWjVEdzstOXZ5QVMyRktwUTpFT0lUdFU5cjN2Vg.1814875200.43CDCQ8VAKxrFLMJXL2hG-QW1zanYaEcaHgwkixFTYo";

/** A browser with one cookie, which it keeps. */
function browserOf(devices: KnownDevices, origin = "http://localhost") {
  let cookie = "";
  const keep = ({ response }: HttpContext) => {
    const [written] = response.toResponse().headers.getSetCookie();
    cookie = written?.split(";")[0] ?? cookie;
  };
  return {
    login(guard: string, userId: number | string, epoch = "an epoch"): boolean {
      const appUrl = origin.startsWith("https") ? origin : null;
      const context = makeContext({ url: `${origin}/`, appUrl, headers: { cookie } });
      const isKnown = devices.remember(context, guard, userId, { names: [`${userId}@example.com`], epoch });
      keep(context);
      return isKnown;
    },
    allow(name: string, epoch = "an epoch"): void {
      const context = makeContext({ url: `${origin}/`, headers: { cookie } });
      devices.allow(context, { names: [name], epoch });
      keep(context);
    },
    renew(userId: number, epoch: string): void {
      const context = makeContext({ url: `${origin}/`, headers: { cookie } });
      devices.renew(context, "web", userId, { names: [`${userId}@example.com`], epoch });
      keep(context);
    },
    /** This browser's identifier for an account with this access epoch. */
    currentOf(name: string, epoch = "an epoch"): string | null {
      return devices.currentOf(makeContext({ headers: { cookie } }), { names: [name], epoch });
    },

    /** The identifier of this browser for an account. */
    deviceOf(account: string): string | null {
      return devices.deviceOf(makeContext({ headers: { cookie } }), account)?.id ?? null;
    },
    groupOf(account: string): string | null {
      return devices.deviceOf(makeContext({ headers: { cookie } }), account)?.group ?? null;
    },
    get cookie() {
      return cookie;
    },
    set cookie(value: string) {
      cookie = value;
    },
  };
}

afterEach(() => setClock(null));

test("a user is known in a browser from the second login on", () => {
  const browser = browserOf(new KnownDevices(KEY, HTTP));
  expect([browser.login("web", 1), browser.login("web", 1), browser.login("web", "1")]).toEqual([false, true, true]);
});

test("another user, another guard and another browser are not", () => {
  const devices = new KnownDevices(KEY, HTTP);
  const browser = browserOf(devices);
  browser.login("web", 1);
  expect([browser.login("web", 2), browser.login("staff", 1), browserOf(devices).login("web", 1)]).toEqual([
    false,
    false,
    false,
  ]);
  expect([browser.login("web", 1), browser.login("web", 2), browser.login("staff", 1)]).toEqual([true, true, true]);
});

test("S8 a cookie that was altered, signed with another key, or made up proves nothing", () => {
  const browser = browserOf(new KnownDevices(KEY, HTTP));
  browser.login("web", 1);
  const { cookie } = browser;
  browser.cookie = cookie.slice(0, -2) + (cookie.endsWith("AA") ? "BB" : "AA");
  expect(browser.login("web", 1)).toBe(false);
  const foreign = browserOf(new KnownDevices(`${KEY} of another application`, HTTP));
  foreign.cookie = cookie;
  expect(foreign.login("web", 1)).toBe(false);
  browser.cookie = "device=web-1";
  expect(browser.login("web", 1)).toBe(false);
});

test("S8 a cookie that a previous key signed is accepted, and is signed with the current key at the next login", () => {
  const next = `${KEY} of this year`;
  const browser = browserOf(new KnownDevices(KEY, HTTP));
  browser.login("web", 1);
  const rotated = browserOf(new KnownDevices(next, HTTP, { previousSecrets: [KEY] }));
  rotated.cookie = browser.cookie;
  expect(rotated.login("web", 1)).toBe(true);
  const without = browserOf(new KnownDevices(next, HTTP));
  without.cookie = browser.cookie;
  expect(without.login("web", 1)).toBe(false);
  without.cookie = rotated.cookie;
  expect(without.login("web", 1)).toBe(true);
});

test("the cookie lasts 400 days, counted from the last login", () => {
  const browser = browserOf(new KnownDevices(KEY, HTTP));
  const start = now();
  browser.login("web", 1);
  setClock(() => start + 399 * DAY);
  expect(browser.login("web", 1)).toBe(true);
  setClock(() => start + 798 * DAY);
  expect(browser.login("web", 1)).toBe(true);
  setClock(() => start + 1199 * DAY);
  expect(browser.login("web", 1)).toBe(false);
});

test("S20 over https, the cookie is for this host only, and never for scripts", () => {
  const context = makeContext({ url: "https://shop.example/", appUrl: "https://shop.example" });
  new KnownDevices(KEY, HTTPS).remember(context, "web", 1, { names: ["1@example.com"], epoch: "an epoch" });
  const [cookie] = context.response.toResponse().headers.getSetCookie();
  expect(cookie).toMatch(/^__Host-device=[\w.-]+; Max-Age=34560000; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
});

test("S8 a cookie that an earlier version wrote is still read, and gets the epoch at the next login", () => {
  setClock(() => Date.parse("2026-06-01T12:00:00.000Z"));
  const browser = browserOf(new KnownDevices(KEY, HTTP));
  browser.cookie = WRITTEN;
  const [id, group] = [browser.deviceOf("1@example.com"), browser.groupOf("1@example.com")];
  expect([id, group, browser.currentOf("1@example.com")]).toEqual(["1Xjp9NT0YQ7F0Mr4RVZ5Dw ", "", null]);
  expect(browser.login("web", 1)).toBe(true);
  expect(browser.currentOf("1@example.com")).toBe(browser.deviceOf("1@example.com"));
});

test("a device is a current one of an account until its epoch changes, and again when that is renewed on it", () => {
  const browser = browserOf(new KnownDevices(KEY, HTTP));
  browser.login("web", 1);
  browser.login("web", 2);
  const device = browser.currentOf("1@example.com");
  expect(device).not.toBeNull();
  expect(browser.currentOf("1@example.com", "the next epoch")).toBeNull();
  // One account's epoch has no meaning for another account.
  browser.renew(1, "the next epoch");
  const renewed = browser.currentOf("1@example.com", "the next epoch");
  expect(renewed).not.toBeNull();
  // Attempts that a copy of the cookie has used up no longer count.
  expect(renewed).not.toBe(device);
  expect(browser.currentOf("2@example.com", "the next epoch")).toBeNull();
  expect(browser.currentOf("2@example.com")).not.toBeNull();
});

test("S54 a copy of its cookie from before an epoch ended is another device, in another group", () => {
  const devices = new KnownDevices(KEY, HTTP);
  const [browser, copy, phone] = [browserOf(devices), browserOf(devices), browserOf(devices)];
  for (const one of [browser, phone]) one.login("web", 1);
  browser.login("web", 2);
  copy.cookie = browser.cookie;
  expect(copy.deviceOf("1@example.com")).toBe(browser.deviceOf("1@example.com"));
  expect(phone.groupOf("1@example.com")).toBe(browser.groupOf("1@example.com"));
  browser.renew(1, "the next epoch");
  expect(copy.deviceOf("1@example.com")).not.toBe(browser.deviceOf("1@example.com"));
  expect(copy.groupOf("1@example.com")).not.toBe(browser.groupOf("1@example.com"));
  // Another user of the device, who changes a password at will, gives it no fresh attempts at the first one's account.
  const before = copy.deviceOf("1@example.com");
  copy.renew(2, "the next epoch");
  copy.login("web", 2, "the epoch after that");
  expect(copy.deviceOf("1@example.com")).toBe(before);
});

test("renewing makes no device known that the user has not logged in on", () => {
  const browser = browserOf(new KnownDevices(KEY, HTTP));
  browser.renew(1, "an epoch");
  expect(browser.cookie).toBe("");
  browser.login("web", 2);
  browser.renew(1, "an epoch");
  expect([browser.deviceOf("1@example.com"), browser.currentOf("1@example.com")]).toEqual([null, null]);
});

test("a link's grant to a device is for one account and one epoch, and precedes the device's own", () => {
  const browser = browserOf(new KnownDevices(KEY, HTTP));
  browser.login("web", 1);
  browser.login("web", 2);
  const device = browser.currentOf("1@example.com");
  browser.allow("1@example.com");
  const pass = browser.currentOf("1@example.com");
  expect(pass).toMatch(/^~[\w-]{11}$/);
  expect([browser.deviceOf("1@example.com"), browser.groupOf("1@example.com")]).toEqual([pass, pass]);
  expect(browser.deviceOf("2@example.com")).not.toBe(pass);
  expect(browser.currentOf("2@example.com")).toBe(device);
  expect(browser.currentOf("1@example.com", "the next epoch")).toBeNull();
  // A login keeps it, and another link replaces it.
  browser.login("web", 1);
  expect(browser.currentOf("1@example.com")).toBe(pass);
  browser.allow("1@example.com");
  expect(browser.currentOf("1@example.com")).toMatch(/^~/);
  expect(browser.currentOf("1@example.com")).not.toBe(pass);
  // The identifier ends with the epoch, so an older copy can't use up the device's new attempts.
  browser.login("web", 1, "the next epoch");
  expect(browser.currentOf("1@example.com", "the next epoch")).toBe(browser.deviceOf("1@example.com"));
  expect(browser.groupOf("1@example.com")).not.toMatch(/^~/);
});

test("a link for one account changes nothing for another, or for the account's own logins", () => {
  const browser = browserOf(new KnownDevices(KEY, HTTP));
  browser.allow("1@example.com");
  const pass = browser.currentOf("1@example.com");
  browser.allow("2@example.com");
  expect(browser.currentOf("1@example.com")).toBe(pass);
  browser.login("web", 3);
  browser.allow("3@example.com");
  expect(browser.login("web", 3)).toBe(true);
});

test("S8 a device stays a current one when the key is rotated", () => {
  const browser = browserOf(new KnownDevices(KEY, HTTP));
  browser.login("web", 1);
  const [device, current] = [browser.deviceOf("1@example.com"), browser.currentOf("1@example.com")];
  const rotated = browserOf(new KnownDevices(`${KEY} of this year`, HTTP, { previousSecrets: [KEY] }));
  rotated.cookie = browser.cookie;
  expect([rotated.deviceOf("1@example.com"), rotated.currentOf("1@example.com")]).toEqual([device, current]);
  rotated.allow("2@example.com");
  expect(rotated.currentOf("1@example.com")).toBe(current);
});

describe("S186 hosts of a domain that share logins", () => {
  const SHOP = "https://shop.example";
  const cookiesOf = (devices: KnownDevices, url: string, cookie = ""): string[] => {
    const context = makeContext({ url, appUrl: SHOP, headers: { cookie } });
    devices.remember(context, "web", 1, { names: ["1@example.com"], epoch: "an epoch" });
    return context.response.toResponse().headers.getSetCookie();
  };

  test("share a device's state, even an earlier device's", () => {
    const own = new KnownDevices(KEY, HTTPS);
    const [before] = cookiesOf(own, `${SHOP}/`);
    const devices = new KnownDevices(KEY, HTTPS);
    devices.share("app.shop.example");
    devices.share("shop.example");
    devices.share("other.shop.example");
    const former = before!.split(";")[0]!;
    const [written, removed] = cookiesOf(devices, "https://app.shop.example/", former);
    expect(written).toMatch(/^__Secure-device=[\w.-]+; .*Domain=shop\.example; .*HttpOnly; Secure/);
    expect(removed).toMatch(/^__Host-device=; /);
    const isKnown = (cookie: string) => devices.isKnown(makeContext({ url: SHOP, headers: { cookie } }));
    expect([former, written!.split(";")[0]!].map(isKnown)).toEqual([true, true]);
    // A browser would refuse the domain there.
    expect(cookiesOf(devices, "https://tenant.example/")[0]).not.toContain("Domain=");
  });
});

test("a browser remembers its last eight users, however often each of them logs in, and its cookie stays small", () => {
  const browser = browserOf(new KnownDevices(KEY, HTTP));
  for (const id of [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9]) browser.login("web", id);
  expect(browser.cookie.length).toBeLessThan(500);
  expect(browser.login("web", 2)).toBe(true);
  expect(browser.login("web", 1)).toBe(false);
});

test("a device has an identifier for each account that was logged in to on it, and none for any other", () => {
  const devices = new KnownDevices(KEY, HTTP);
  const [browser, other] = [browserOf(devices), browserOf(devices)];
  expect(browser.deviceOf("1@example.com")).toBeNull();
  browser.login("web", 1);
  const device = browser.currentOf("1@example.com");
  expect(Buffer.from(device!.split(" ")[0]!, "base64url")).toHaveLength(16);
  expect([browser.deviceOf("2@example.com"), browser.currentOf("2@example.com")]).toEqual([null, null]);
  browser.login("web", 2);
  browser.login("web", 1);
  expect(["1@example.com", "2@example.com"].map((account) => browser.currentOf(account))).toEqual([device, device]);
  other.login("web", 1);
  expect(other.deviceOf("1@example.com")).not.toBe(browser.deviceOf("1@example.com"));
  expect(other.currentOf("1@example.com")).not.toBe(device);
});

test("S8 the cookie does not hold an account, or anything that a guess can be checked against without the key", () => {
  const [browser, other] = [browserOf(new KnownDevices(KEY, HTTP)), browserOf(new KnownDevices(`${KEY}!`, HTTP))];
  for (const one of [browser, other]) one.login("web", 1);
  const users = [browser, other].map(({ cookie }) => {
    const signed = decodeURIComponent(cookie.slice("device=".length));
    return Buffer.from(signed.split(".")[0]!, "base64url").toString();
  });
  expect(users.join()).not.toContain("example.com");
  const marks = users.map((text) => /:([\w-]{11})/.exec(text)?.[1]);
  expect(marks[0]).not.toBe(marks[1]);
});

const MOZILLA = "Mozilla/5.0";
const WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)";

test.each([
  [`${MOZILLA} (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0`, "Firefox on Windows"],
  [`${MOZILLA} (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36`, "Chrome on Windows"],
  [
    `${MOZILLA} (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0`,
    "Edge on Windows",
  ],
  [`${MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Version/26.1 Safari/605.1.15`, "Safari on macOS"],
  [`${MOZILLA} (X11; Linux x86_64) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36 OPR/124.0.0.0`, "Opera on Linux"],
  [`${MOZILLA} (X11; Linux x86_64) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36 Vivaldi/7.6.3797.58`, "Vivaldi on Linux"],
  [`${MOZILLA} (X11; CrOS x86_64 14541.0.0) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36`, "Chrome on ChromeOS"],
  [`${MOZILLA} (Linux; Android 10; K) ${WEBKIT} Chrome/142.0.0.0 Mobile Safari/537.36`, "Chrome on Android"],
  [
    `${MOZILLA} (Linux; Android 15) ${WEBKIT} SamsungBrowser/28.0 Chrome/130.0.0.0 Safari/537.36`,
    "Samsung Internet on Android",
  ],
  [
    `${MOZILLA} (Linux; Android 10; K) ${WEBKIT} Chrome/142.0.0.0 Mobile Safari/537.36 EdgA/142.0.0.0`,
    "Edge on Android",
  ],
  [
    `${MOZILLA} (iPhone; CPU iPhone OS 18_7 like Mac OS X) ${WEBKIT} Version/26.1 Mobile/15E148 Safari/604.1`,
    "Safari on iPhone",
  ],
  [
    `${MOZILLA} (iPhone; CPU iPhone OS 18_7 like Mac OS X) ${WEBKIT} CriOS/142.0 Mobile/15E148 Safari/604.1`,
    "Chrome on iPhone",
  ],
  [`${MOZILLA} (iPad; CPU OS 18_7 like Mac OS X) ${WEBKIT} FxiOS/145.0 Mobile/15E148 Safari/604.1`, "Firefox on iPad"],
  ["curl/8.5.0", "Unknown device"],
  ["", "Unknown device"],
  [null, "Unknown device"],
  ["Something on Linux", "Linux"],
  ["Firefox/145.0", "Firefox"],
])("%s is called %s", (userAgent, name) => {
  expect(deviceName(userAgent)).toBe(name);
});

test("the name contains nothing that the client sent", () => {
  fc.assert(
    fc.property(anyText(), (userAgent) => {
      expect(deviceName(`<b>${userAgent}</b>`)).toMatch(/^[A-Za-z ]+$/);
    }),
  );
});
