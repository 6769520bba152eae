import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { serializeCookie } from "../../http/index.ts";
import { CookieJar, freeze, travel, travelBack } from "../index.ts";

const HERE = "https://shop.example";

afterEach(travelBack);

function jarWith(...setCookies: readonly string[]): CookieJar {
  const jar = new CookieJar(HERE);
  for (const setCookie of setCookies) jar.store(setCookie, new URL(`${HERE}/account/login`));
  return jar;
}

function sent(jar: CookieJar, url: string): string | null {
  return jar.header(new URL(url, HERE));
}

describe("storing cookies", () => {
  test("a cookie with all its attributes", () => {
    freeze(new Date(0));
    const jar = jarWith("token=a%20b; Max-Age=60; Path=/; HttpOnly; Secure; SameSite=Lax");
    expect(jar.all).toEqual([
      {
        name: "token",
        value: "a%20b",
        domain: "shop.example",
        hostOnly: true,
        path: "/",
        expiresAt: 60_000,
        secure: true,
        httpOnly: true,
        sameSite: "lax",
      },
    ]);
    expect(jar.get("token")).toBe("a b");
    expect(jar.find("other")).toBeNull();
    expect(jar.get("other")).toBeNull();
  });

  test("a later cookie replaces an earlier one with the same name and path, in its position", () => {
    const jar = jarWith("a=1; Path=/", "b=1; Path=/", "a=2; Path=/", "a=3; Path=/account");
    expect(sent(jar, "/")).toBe("a=2; b=1");
    expect(sent(jar, "/account")).toBe("a=3; a=2; b=1");
  });

  test.each([
    ["a secure one over http", "a=1; Secure", "http://shop.example/"],
    ["one for another domain", "a=1; Domain=bank.example", HERE],
    ["one for a domain below the host", "a=1; Domain=www.shop.example", HERE],
    ["one for a public suffix", "a=1; Domain=co.uk", "https://shop.co.uk/"],
    ["one for a public suffix of a host that has sites of others", "a=1; Domain=github.io", "https://ada.github.io/"],
    ["one for a top-level domain", "a=1; Domain=example", HERE],
    ["one with half the host's name", "a=1; Domain=hop.example", HERE],
    ["__Secure- without Secure", "__Secure-a=1; Path=/", HERE],
    ["__Host- without Secure", "__Host-a=1; Path=/", HERE],
    ["__Host- with a domain", "__Host-a=1; Path=/; Secure; Domain=shop.example", HERE],
    ["__Host- with another path", "__Host-a=1; Path=/x; Secure", HERE],
    ["__Host- without a path", "__Host-a=1; Secure", HERE],
    ["one without a name", "=1", HERE],
  ])("S20 a refused cookie: %s", (_what, setCookie, url) => {
    const jar = new CookieJar(HERE);
    jar.store(setCookie, new URL(url));
    expect(jar.all).toEqual([]);
  });

  test("S20 a __Host- cookie that meets every condition is kept", () => {
    expect(sent(jarWith("__Host-a=1; Path=/; Secure"), "/")).toBe("__Host-a=1");
  });

  test("no header makes it throw", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const jar = jarWith(text);
        jar.header(new URL(HERE));
        for (const { name } of jar.all) jar.get(name);
      }),
    );
  });

  test("a cookie that the framework writes is read back unchanged", () => {
    const name = fc.stringMatching(/^[a-zA-Z][\w-]{0,20}$/);
    const value = fc.string({ unit: "grapheme" }).filter((text) => !/[\p{Cc};]/u.test(text) && text.isWellFormed());
    fc.assert(
      fc.property(name, value, (key, text) => {
        const jar = jarWith(serializeCookie(key, text, {}, true));
        expect(jar.get(key)).toBe(text);
      }),
    );
  });
});

describe("a cookie is sent", () => {
  test("to its path and everything below it", () => {
    const jar = jarWith("a=1; Path=/docs");
    expect(
      ["/docs", "/docs/", "/docs/a", "/documents", "/", "/Docs"].filter((path) => sent(jar, path) !== null),
    ).toEqual(["/docs", "/docs/", "/docs/a"]);
  });

  test("without a path, to the folder of the page that set it", () => {
    const jar = jarWith("a=1", "b=1; Path=relative");
    expect(sent(jar, "/account/other")).toBe("a=1; b=1");
    expect(sent(jar, "/other")).toBeNull();
    // The directory of a page directly below the root is the root.
    jar.store("c=1", new URL("/login", HERE));
    expect([sent(jar, "/other"), jar.find("c")?.path]).toEqual(["c=1", "/"]);
  });

  test("only to its host, or with a domain to its subdomains too", () => {
    const jar = jarWith("a=1; Path=/", "b=1; Path=/; Domain=.shop.example");
    expect(sent(jar, "https://www.shop.example/")).toBe("b=1");
    expect(sent(jar, "https://eshop.example/")).toBeNull();
    expect(sent(jar, HERE)).toBe("a=1; b=1");
  });

  test("only over https if it is secure", () => {
    const jar = jarWith("a=1; Path=/; Secure", "b=1; Path=/");
    expect(sent(jar, "http://shop.example/")).toBe("b=1");
  });

  test("before those with shorter paths", () => {
    expect(sent(jarWith("a=1; Path=/", "b=1; Path=/account"), "/account/x")).toBe("b=1; a=1");
  });
});

describe("a cookie expires", () => {
  test("by Max-Age, to the second of the framework's clock", () => {
    freeze();
    const jar = jarWith("a=1; Path=/; Max-Age=60");
    travel(59 / 60);
    expect(sent(jar, "/")).toBe("a=1");
    travel(1 / 60);
    expect(sent(jar, "/")).toBeNull();
    expect(jar.all).toEqual([]);
  });

  test("by Expires, unless it has a Max-Age", () => {
    freeze(new Date("2030-01-01T00:00:00Z"));
    const jar = jarWith(
      "a=1; Path=/; Expires=Tue, 01 Jan 2030 00:01:00 GMT",
      "b=1; Path=/; Expires=Tue, 01 Jan 2030 00:01:00 GMT; Max-Age=600",
    );
    travel(1);
    expect(sent(jar, "/")).toBe("b=1");
  });

  test.each(["Max-Age=0", "Max-Age=-1", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"])("immediately: %s", (ending) => {
    expect(jarWith("a=1; Path=/", `a=; Path=/; ${ending}`).all).toEqual([]);
  });

  test("with the jar if its expiry cannot be parsed", () => {
    const jar = jarWith("a=1; Path=/; Max-Age=soon; Expires=later");
    travel(1_000_000);
    expect(sent(jar, "/")).toBe("a=1");
  });
});

describe("cookies set by hand", () => {
  test("can be added and removed by a test", () => {
    const jar = jarWith("a=1; Path=/");
    jar.set("a", "ä;b", { maxAgeSeconds: 60 });
    jar.set("b", "2", { path: "/x", secure: true, httpOnly: false });
    expect(jar.get("a")).toBe("ä;b");
    expect(sent(jar, "/x")).toBe("b=2; a=%C3%A4%3Bb");
    expect(sent(jar, "https://www.shop.example/x")).toBeNull();
    expect(sent(jar, "http://shop.example/x")).toBe("a=%C3%A4%3Bb");
    expect([jar.find("a"), jar.find("b")]).toMatchObject([
      { path: "/", secure: false, httpOnly: true },
      { path: "/x", secure: true, httpOnly: false },
    ]);
    jar.delete("a");
    expect(sent(jar, "/x")).toBe("b=2");
    travel(2);
    jar.clear();
    expect(jar.all).toEqual([]);
  });

  test("expire at the given time", () => {
    freeze();
    const jar = new CookieJar(HERE);
    jar.set("a", "1", { maxAgeSeconds: 60 });
    jar.set("b", "2");
    travel(59 / 60);
    expect(sent(jar, "/")).toBe("a=1; b=2");
    travel(1 / 60);
    expect(sent(jar, "/")).toBe("b=2");
  });

  test("keep a value with a broken escape unchanged", () => {
    expect(jarWith("a=%zz; Path=/").get("a")).toBe("%zz");
  });
});
