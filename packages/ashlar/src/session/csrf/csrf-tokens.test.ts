import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { makeContext } from "../../../test/support/http-context.ts";
import { generateSecret, randomToken } from "../../security/index.ts";
import { CsrfTokens, comesFromElsewhere, comesFromHere } from "./csrf-tokens.ts";

const SECRET = generateSecret();
const tokens = new CsrfTokens(SECRET);
const ID = randomToken();

describe("tokens", () => {
  test("S26 a token is valid for the session it was issued for, and for no other", () => {
    const token = tokens.issue(ID);
    expect(tokens.matches(ID, token)).toBe(true);
    expect(tokens.matches(randomToken(), token)).toBe(false);
  });

  test("S26 a token of another application is invalid", () => {
    expect(tokens.matches(ID, new CsrfTokens(generateSecret()).issue(ID))).toBe(false);
    expect(tokens.matches(ID, new CsrfTokens(SECRET).issue(ID))).toBe(true);
  });

  test("S26 a token issued by an earlier version is still valid", () => {
    const issued = "tw4tfgMq4T3HWWxTW60EzE6jNJumz6uY280KPR8RGszRK_C4zzAkYjy6Ow-lpCAeCLse70MxyOkrQrG0L9nP0g";
    expect(new CsrfTokens("a secret of an application, that stays: 0123456789").matches("an id", issued)).toBe(true);
  });

  test("S26 each token has a new mask, so no two pages share any part of it", () => {
    const issued = Array.from({ length: 200 }, () => tokens.issue(ID));
    expect(new Set(issued).size).toBe(200);
    // Neither half repeats, and no position has the same character in every token.
    expect(new Set(issued.map((token) => token.slice(0, 40))).size).toBe(200);
    expect(new Set(issued.map((token) => token.slice(-40))).size).toBe(200);
    for (let place = 0; place < 86; place++)
      expect(new Set(issued.map((token) => token[place])).size).toBeGreaterThan(1);
    expect(issued.every((token) => tokens.matches(ID, token))).toBe(true);
  });

  test("S26 the token reveals nothing about the session's id", () => {
    expect(tokens.issue(ID)).toMatch(/^[\w-]{86}$/);
    expect(tokens.issue(ID)).not.toContain(ID.slice(0, 8));
  });

  test("S26 a token with any bit flipped is refused", () => {
    const bytes = Buffer.from(tokens.issue(ID), "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(tokens.matches(ID, changed.toString("base64url"))).toBe(false);
    }
  });

  test("S26 a token made with a previous key is accepted, and new ones are made only with the current key", () => {
    const [next, oldest] = [generateSecret(), generateSecret()];
    const rotated = new CsrfTokens(next, { previousSecrets: [SECRET, oldest] });
    const made = [rotated, tokens, new CsrfTokens(oldest)].map((one) => one.issue(ID));
    expect(made.map((token) => rotated.matches(ID, token))).toEqual([true, true, true]);
    expect(made.map((token) => rotated.matches(randomToken(), token))).toEqual([false, false, false]);
    expect(made.map((token) => new CsrfTokens(next).matches(ID, token))).toEqual([true, false, false]);
    expect(tokens.matches(ID, rotated.issue(ID))).toBe(false);
    expect(rotated.matches(ID, new CsrfTokens(generateSecret()).issue(ID))).toBe(false);
  });

  test("S36 anything else is refused without throwing", () => {
    const token = tokens.issue(ID);
    const others = [
      null,
      undefined,
      "",
      7,
      true,
      [],
      [token],
      { token },
      `${token}=`,
      ` ${token}`,
      `${token}\n`,
      token.slice(1),
      token + token,
    ];
    expect(others.map((other) => tokens.matches(ID, other))).toEqual(others.map(() => false));
    fc.assert(
      fc.property(
        fc.oneof(fc.anything(), anyText({ minLength: 86, maxLength: 86 })),
        (other) => !tokens.matches(ID, other),
      ),
    );
  });
});

describe("S163 a token proves which page it was shown in", () => {
  const PAGE = "shop.example/orders/create";

  test("to its session, with any key that is still accepted", () => {
    const token = tokens.issue(ID, PAGE);
    const next = new CsrfTokens(generateSecret(), { previousSecrets: [SECRET] });
    expect([tokens, next].map((one) => one.provesPage(ID, PAGE, token))).toEqual([true, true]);
    expect(tokens.matches(ID, token)).toBe(true);
    expect(new Set(Array.from({ length: 100 }, () => tokens.issue(ID, PAGE).slice(0, 21))).size).toBe(100);
  });

  test("and proves nothing for another page or session, or if it is pageless, from an earlier version or not a token", () => {
    const token = tokens.issue(ID, PAGE);
    const proofs = [
      tokens.provesPage(ID, "shop.example/orders", token),
      tokens.provesPage(ID, "", token),
      tokens.provesPage(randomToken(), PAGE, token),
      tokens.provesPage(ID, PAGE, tokens.issue(ID)),
      tokens.provesPage(ID, PAGE, null),
      tokens.provesPage(ID, PAGE, ""),
      new CsrfTokens(generateSecret()).provesPage(ID, PAGE, token),
    ];
    expect(proofs).toEqual(proofs.map(() => false));
  });

  test("which a client that has a token, and so its secret, can't change", () => {
    const bytes = Buffer.from(tokens.issue(ID, PAGE), "base64url");
    for (let bit = 0; bit < 256; bit++) {
      const changed = Buffer.from(bytes);
      // The same bit in both halves, so that the secret doesn't change.
      for (const half of [0, 32]) changed[half + (bit >> 3)]! ^= 1 << (bit & 7);
      const token = changed.toString("base64url");
      expect([tokens.matches(ID, token), tokens.provesPage(ID, PAGE, token)]).toEqual([true, false]);
    }
  });
});

const APP = "https://shop.example";

function verdict(
  headers: Record<string, string>,
  appUrl: string | null = APP,
  url = "http://10.0.0.7:3000/login",
  trustedOrigins: readonly string[] = [],
): string {
  const { request, services } = makeContext({ url, headers, appUrl, trustedOrigins });
  return comesFromElsewhere(request, services) ? "elsewhere" : "here";
}

describe("S27 Sec-Fetch-Site decides if it is present", () => {
  test.each([
    ["same-origin", "here"],
    ["none", "here"],
    ["same-site", "elsewhere"],
    ["cross-site", "elsewhere"],
    ["", "elsewhere"],
    ["Same-Origin", "elsewhere"],
    ["same-origin, cross-site", "elsewhere"],
    ["anything", "elsewhere"],
  ])("%j is %s", (site, expected) => {
    expect(verdict({ "sec-fetch-site": site })).toBe(expected);
    expect(verdict({ "sec-fetch-site": site, origin: APP })).toBe(expected);
  });
});

describe("S27 Origin decides if Sec-Fetch-Site is missing", () => {
  test.each([
    [APP, "here"],
    ["https://shop.example:443", "here"],
    ["http://shop.example", "elsewhere"],
    ["https://shop.example:8443", "elsewhere"],
    ["https://www.shop.example", "elsewhere"],
    ["https://shop.example.evil.example", "elsewhere"],
    ["https://evil.example", "elsewhere"],
    ["http://10.0.0.7:3000", "elsewhere"],
    ["", "elsewhere"],
    ["NULL", "elsewhere"],
    ["null, null", "elsewhere"],
    [`null, ${APP}`, "elsewhere"],
    ["shop.example", "elsewhere"],
    ["file://", "elsewhere"],
    [`${APP}, https://evil.example`, "elsewhere"],
  ])("%j is %s, whatever Referer says", (origin, expected) => {
    expect(verdict({ origin })).toBe(expected);
    expect(verdict({ origin, referer: `${APP}/login` })).toBe(expected);
    expect(verdict({ origin, referer: "https://evil.example/" })).toBe(expected);
  });

  test.each([
    ["http://10.0.0.7:3000", "here"],
    ["https://10.0.0.7:3000", "here"],
    ["http://10.0.0.7:3001", "elsewhere"],
    ["http://10.0.0.7", "elsewhere"],
    ["https://shop.example", "elsewhere"],
    ["ftp://10.0.0.7:3000", "elsewhere"],
    ["ws://10.0.0.7:3000", "elsewhere"],
  ])("without APP_URL, the requested host counts: %j is %s", (origin, expected) => {
    expect(verdict({ origin }, null)).toBe(expected);
  });

  test("without APP_URL, an invalid host matches no page", () => {
    expect(verdict({ host: "a b", origin: "http://10.0.0.7:3000" }, null)).toBe("elsewhere");
  });

  test("the default port may be written or left out", () => {
    const url = "http://10.0.0.7/";
    expect(verdict({ host: "shop.example:443", origin: APP }, null, url)).toBe("here");
    expect(verdict({ host: "shop.example", origin: "http://shop.example:80" }, null, url)).toBe("here");
    expect(verdict({ host: "shop.example:80", origin: APP }, null, url)).toBe("elsewhere");
  });
});

describe("S130 Origin: null proves nothing, so that a page without a referrer may send its own form", () => {
  test.each<[string, Record<string, string>, string]>([
    ["alone", {}, "here"],
    ["with a Referer of the site", { referer: `${APP}/password_reset` }, "here"],
    ["with another site's Referer", { referer: "https://evil.example/" }, "elsewhere"],
    ["with the Referer of another subdomain", { referer: "https://www.shop.example/" }, "elsewhere"],
    ["with the Referer of a page without an origin", { referer: "about:srcdoc" }, "elsewhere"],
    ["with Sec-Fetch-Site: same-origin", { "sec-fetch-site": "same-origin" }, "here"],
    ["with Sec-Fetch-Site: none", { "sec-fetch-site": "none" }, "here"],
    ["with Sec-Fetch-Site: same-site", { "sec-fetch-site": "same-site" }, "elsewhere"],
    ["with Sec-Fetch-Site: cross-site", { "sec-fetch-site": "cross-site" }, "elsewhere"],
    [
      "with Sec-Fetch-Site: cross-site and a Referer of the site",
      { "sec-fetch-site": "cross-site", referer: `${APP}/` },
      "elsewhere",
    ],
  ])("%s", (_, headers, expected) => {
    expect(verdict({ origin: "null", ...headers })).toBe(expected);
    expect(verdict({ origin: "null", ...headers, host: "shop.example" }, null)).toBe(expected);
  });
});

describe("S27 Referer decides if both are missing", () => {
  test.each([
    [`${APP}/login?next=/`, "here"],
    [`${APP}/`, "here"],
    ["https://evil.example/?https://shop.example/", "elsewhere"],
    ["https://shop.example@evil.example/", "elsewhere"],
    ["about:blank", "elsewhere"],
  ])("%j is %s", (referer, expected) => {
    expect(verdict({ referer })).toBe(expected);
  });

  test("without any of these headers, the request counts as coming from the site", () => {
    expect([verdict({}), verdict({}, null)]).toEqual(["here", "here"]);
  });
});

describe("S27 S107 a trusted origin's page counts as the application's own", () => {
  const FRONT_END = "https://app.shop.example";
  const seen = (headers: Record<string, string>) => verdict(headers, APP, undefined, [FRONT_END]);

  test.each(["same-site", "cross-site", "none"])("whatever Sec-Fetch-Site says: %s", (site) => {
    expect(seen({ origin: FRONT_END, "sec-fetch-site": site })).toBe("here");
  });

  test.each([
    "http://app.shop.example",
    "https://app.shop.example:8443",
    "https://app.shop.example.evil.example",
    "https://evil.app.shop.example",
    "https://shop.example.evil.example",
    `${FRONT_END}, https://evil.example`,
    `${FRONT_END}/`,
    "HTTPS://APP.SHOP.EXAMPLE",
    "",
  ])("but not a page of another origin: %j", (origin) => {
    expect(seen({ origin, "sec-fetch-site": "same-site" })).toBe("elsewhere");
    expect(seen({ origin, "sec-fetch-site": "cross-site" })).toBe("elsewhere");
    expect(seen({ origin })).toBe("elsewhere");
  });

  test("S130 Origin: null is not a listed origin", () => {
    expect(seen({ origin: "null", "sec-fetch-site": "same-site" })).toBe("elsewhere");
    expect(seen({ origin: "null", "sec-fetch-site": "cross-site" })).toBe("elsewhere");
    expect(seen({ origin: "null", referer: `${FRONT_END}/login` })).toBe("here");
  });

  test("Referer counts only if Origin and Sec-Fetch-Site are missing", () => {
    expect(seen({ referer: `${FRONT_END}/login` })).toBe("here");
    expect(seen({ referer: `${FRONT_END}/login`, "sec-fetch-site": "same-site" })).toBe("elsewhere");
    expect(seen({ referer: `${FRONT_END}/login`, origin: "https://evil.example" })).toBe("elsewhere");
    expect(seen({ referer: "https://evil.example/" })).toBe("elsewhere");
  });
});

describe("S26 the headers of a request prove that a page of the application sent it", () => {
  test.each<[Record<string, string>, boolean]>([
    [{ "sec-fetch-site": "same-origin" }, true],
    [{ "sec-fetch-site": "none", origin: APP }, false],
    [{ "sec-fetch-site": "same-site", origin: APP }, false],
    [{ origin: APP }, true],
    [{ origin: "https://evil.example" }, false],
    [{ origin: "null" }, false],
    [{ origin: "null", referer: `${APP}/login` }, false],
    [{ origin: "https://evil.example", referer: `${APP}/login` }, false],
    [{ referer: `${APP}/login` }, false],
    [{}, false],
  ])("%j: %j", (headers, expected) => {
    const { request } = makeContext({ url: "http://10.0.0.7:3000/login", headers });
    expect(comesFromHere(request, APP)).toBe(expected);
  });
});
