import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { serializeCookie } from "../../http/index.ts";
import { generateSecret, randomToken, Sealer } from "../../security/index.ts";
import { setClock } from "../../support/index.ts";
import { SealedSessions } from "./cookie-sessions.ts";
import type { SessionRecord } from "./session-keeper.ts";
import { readSessionSettings } from "./settings.ts";

const SECRET = generateSecret();
let time = Date.UTC(2030, 0, 1);

beforeEach(() => setClock(() => time));
afterEach(() => setClock(null));

function store(session: object = {}, secret = SECRET, url: string | null = null): SealedSessions {
  return new SealedSessions(new Sealer(secret, "session"), readSessionSettings(session, url));
}

function record(contents = '{"d":{"a":1}}'): SessionRecord {
  return { id: randomToken(), createdAt: time - 5000, usedAt: time, contents };
}

describe("the sealed cookie", () => {
  test("S23 a sealed session opens unchanged, to the last character", () => {
    const [one, other] = [store(), store()];
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (contents) => {
        const kept = record(contents);
        expect(one.find(other.cookieFor(kept))).toEqual(kept);
      }),
    );
  });

  test("S23 its contents cannot be read", () => {
    const kept = record('{"d":{"name":"Ada Lovelace"}}');
    const bytes = Buffer.from(store().cookieFor(kept), "base64url").toString("latin1");
    for (const word of ["name", "Ada ", "Lovelace"]) expect(bytes).not.toContain(word);
    expect(bytes).not.toContain(kept.id.slice(0, 8));
  });

  test("S23 it opens only under its own name and key", () => {
    const cookie = store({ cookie: "one" }).cookieFor(record());
    expect(store({ cookie: "one" }).find(cookie)).not.toBe(null);
    expect(store({ cookie: "two" }).find(cookie)).toBe(null);
    expect(store({ cookie: "one" }, generateSecret()).find(cookie)).toBe(null);
  });

  test("S23 a value sealed for another purpose under the same name does not open", () => {
    const text = `${randomToken()}.${time.toString(36)}.${time.toString(36)}.{}`;
    expect(store().find(new Sealer(SECRET, "session").seal("session", text))).not.toBe(null);
    expect(store().find(new Sealer(SECRET, "device").seal("session", text))).toBe(null);
    expect(store().find(new Sealer(SECRET, "csrf").seal("session", text))).toBe(null);
  });

  test("S23 it opens for exactly as long as a session may be idle", () => {
    const started = time;
    const cookie = store({ lifetimeMinutes: 10 }).cookieFor(record());
    time = started + 10 * 60_000 - 1;
    expect(store({ lifetimeMinutes: 10 }).find(cookie)).not.toBe(null);
    time = started + 10 * 60_000;
    expect(store({ lifetimeMinutes: 10 }).find(cookie)).toBe(null);
  });

  test("S25 nothing else opens, and nothing throws", () => {
    const one = store();
    const cookie = one.cookieFor(record());
    const bytes = fc.uint8Array().map((array) => Buffer.from(array).toString("latin1"));
    const long = fc.tuple(fc.string(), fc.integer({ min: 4000, max: 9000 })).map(([text, to]) => text.padEnd(to, "A"));
    fc.assert(
      fc.property(fc.oneof(bytes, fc.string({ unit: "grapheme" }), fc.base64String(), long), (text) => {
        expect(one.find(text)).toBe(null);
      }),
    );
    for (let place = 0; place < cookie.length; place++) {
      const other = cookie[place] === "A" ? "B" : "A";
      expect(one.find(cookie.slice(0, place) + other + cookie.slice(place + 1))).toBe(null);
    }
  });

  test("sealed contents of another form are not a session", () => {
    const sealer = new Sealer(SECRET, "session");
    for (const text of [
      "",
      "{}",
      "a.b.c.d",
      `${randomToken()}.1.2`,
      `${randomToken()}.1.-2.{}`,
      `a${randomToken()}.1.2.{}`,
    ]) {
      expect(store().find(sealer.seal("session", text))).toBe(null);
    }
  });
});

describe("size", () => {
  test.each<[object, string | null]>([
    [{}, null],
    [{}, "https://shop.example"],
    [{ sameSite: "strict", absoluteMinutes: 525_600 }, null],
    [{ cookie: "n".repeat(64) }, null],
  ])("S20 the largest session fits in a cookie of 4096 bytes: %j at %s", (session, url) => {
    const settings = readSessionSettings(session, url);
    const one = store(session, SECRET, url);
    expect(one.maxBytes).toBeGreaterThan(2700);
    const options = {
      maxAgeSeconds: settings.absoluteMinutes * 60,
      sameSite: settings.sameSite,
      secure: true,
    };
    const text = serializeCookie(settings.cookie, one.cookieFor(record("x".repeat(one.maxBytes))), options, true);
    expect(text.length).toBeLessThanOrEqual(4096);
    expect(text.length).toBeGreaterThan(4080);
  });

  test("S20 a full session makes a cookie of exactly 4096 bytes if base64 has a text of that length", () => {
    // From 2059 on, times have nine digits in base 36.
    time = Date.UTC(2060, 0, 1);
    const lengths = (session: object, url: string | null) =>
      Array.from({ length: 8 }, (_, index) => {
        const settings = readSessionSettings({ ...session, cookie: "n".repeat(index + 1) }, url);
        const one = new SealedSessions(new Sealer(SECRET, "session"), settings);
        const { cookie, sameSite, absoluteMinutes } = settings;
        const options = { maxAgeSeconds: absoluteMinutes * 60, sameSite };
        const full = one.cookieFor(record("x".repeat(one.maxBytes)));
        return serializeCookie(cookie, full, options, true).length;
      });
    for (const sameSite of ["lax", "strict"]) {
      // At this time, 60 and 61 seconds per minute make a difference of one digit.
      for (const absoluteMinutes of [1440, 1660]) {
        const found = lengths({ sameSite, absoluteMinutes }, "https://shop.example");
        expect([Math.max(...found), Math.min(...found) > 4092]).toEqual([4096, true]);
      }
    }
  });

  test("nothing is kept on the server, so there is nothing to prune", async () => {
    expect(await store().prune()).toBe(0);
  });
});
