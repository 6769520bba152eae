import { describe, expect, test } from "vitest";
import { makeContext } from "../../../test/support/http-context.ts";
import { comesFromElsewhere, comesFromHere } from "./request-origin.ts";

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

describe("S130 Origin: null says nothing, so that a page without a referrer may send its own form", () => {
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

describe("S27 S107 a page of a trusted origin counts as the application's own", () => {
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
  ])("and no page of another: %j", (origin) => {
    expect(seen({ origin, "sec-fetch-site": "same-site" })).toBe("elsewhere");
    expect(seen({ origin, "sec-fetch-site": "cross-site" })).toBe("elsewhere");
    expect(seen({ origin })).toBe("elsewhere");
  });

  test("S130 Origin: null is no listed origin", () => {
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
