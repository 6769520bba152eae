import { afterEach, describe, expect, test } from "vitest";
import { generateSecret, Signer } from "../../security/index.ts";
import { now, setClock } from "../../support/index.ts";
import { Route } from "../definitions/route.ts";
import { Router } from "../router.ts";

const handler = () => "answer";
const secret = generateSecret();
const signer = new Signer(secret, "signed-url");
const entries = [
  Route.get("/unsubscribe/@user", handler).name("unsubscribe"),
  Route.get("/unsubscribe/@user/all", handler).name("all"),
  Route.get("/v/@value:signed", handler).name("value"),
  Route.get("/hosted", handler).name("hosted").domain("api"),
];

function routerWith(key: Signer | null): Router {
  const source = {
    entries: key === null ? entries.slice(0, 2) : entries,
    stack: null,
    prefix: "",
    respondsWithJson: false,
    file: "routes/web.ts",
  };
  return new Router([source], key === null ? {} : { signer: key, appUrl: "https://shop.example" });
}

const router = routerWith(signer);

afterEach(() => setClock(null));

describe("a signed URL", () => {
  test("is the URL plus a signature, and is valid as a path and as a full URL on any host", () => {
    const url = router.signed("unsubscribe", { user: "7 é" }, { query: { list: "a b", page: 2, none: null } });
    expect(url).toMatch(/^\/unsubscribe\/7%20%C3%A9\?list=a%20b&page=2&signature=[\w.-]+$/);
    expect(router.hasValidSignature(url)).toBe(true);
    expect(router.hasValidSignature(`https://shop.example${url}`)).toBe(true);
    expect(router.hasValidSignature(new Request(`http://127.0.0.1:3000${url}`).url)).toBe(true);
    expect(router.hasValidSignature(`${url}#fragment`)).toBe(true);
  });

  test("has only a signature if it has no query", () => {
    expect(router.signed("unsubscribe", { user: 7 })).toMatch(/^\/unsubscribe\/7\?signature=[\w.-]+$/);
    expect(router.hasValidSignature(router.signed("unsubscribe", { user: 7 }))).toBe(true);
  });

  test("is always the same for the same URL", () => {
    expect(router.signed("unsubscribe", { user: 7 })).toBe(router.signed("unsubscribe", { user: 7 }));
  });

  test("stays valid if its query is reordered or encoded differently", () => {
    const url = new URL(`http://host${router.signed("unsubscribe", { user: 7 }, { query: { a: "x y", b: "1" } })}`);
    const signature = url.searchParams.get("signature");
    expect(router.hasValidSignature(`/unsubscribe/7?signature=${signature}&b=1&a=x+y`)).toBe(true);
    expect(router.hasValidSignature(`/unsubscribe/7?b=%31&signature=${signature}&a=x%20y`)).toBe(true);
  });

  test("is the full URL if the route has a domain", () => {
    const url = router.signed("hosted", {}, { expiresInMinutes: 1 });
    expect(url).toMatch(/^https:\/\/api\.shop\.example\/hosted\?expires=\d+&signature=/);
    expect(router.hasValidSignature(url)).toBe(true);
  });

  test("expires at the given second", () => {
    setClock(() => 1_700_000_000_000);
    const url = router.signed("unsubscribe", { user: 7 }, { expiresInMinutes: 10 });
    expect(url).toContain("?expires=1700000600&signature=");
    expect(router.hasValidSignature(url)).toBe(true);
    setClock(() => 1_700_000_599_999);
    expect(router.hasValidSignature(url)).toBe(true);
    setClock(() => 1_700_000_600_000);
    expect(router.hasValidSignature(url)).toBe(false);
  });

  test("never expires without an expiry", () => {
    const url = router.signed("unsubscribe", { user: 7 });
    const later = now() + 100 * 365 * 24 * 3600 * 1000;
    setClock(() => later);
    expect(router.hasValidSignature(url)).toBe(true);
  });
});

describe("a URL is not validly signed", () => {
  const url = router.signed("unsubscribe", { user: 7 }, { expiresInMinutes: 10, query: { a: 1 } });
  const [path, query] = url.split("?") as [string, string];

  test.each([
    ["another parameter", url.replace("/7", "/8")],
    ["another path", url.replace("/7", "/7/all")],
    ["another spelling of the path", url.replace("/7", "/%37")],
    ["a slash at its end", url.replace("/7?", "/7/?")],
    ["another value", url.replace("a=1", "a=2")],
    ["another name", url.replace("a=1", "A=1")],
    ["a value taken away", url.replace("a=1&", "")],
    ["a value added", `${url}&b=2`],
    ["an empty value added", `${url}&b`],
    ["a later end", url.replace(/expires=(\d+)/, (_, end) => `expires=${Number(end) + 1}`)],
    ["another spelling of the end", url.replace("expires=", "expires=0")],
    ["no end", url.replace(/expires=\d+&/, "")],
    ["no signature", url.replace(/&signature=.*/, "")],
    ["an empty signature", url.replace(/signature=.*/, "signature=")],
    ["half a signature", url.slice(0, -10)],
    ["a changed signature", url.slice(0, -2) + (url.endsWith("AA") ? "BB" : "AA")],
    ["more behind the signature", `${url}A`],
    ["no query", path],
    ["the query alone", `?${query}`],
    ["nothing", ""],
  ])("with %s", (_, tampered) => {
    expect(router.hasValidSignature(url)).toBe(true);
    expect(router.hasValidSignature(tampered)).toBe(false);
  });

  test("with a name twice, even if both have the same value", () => {
    for (const again of [
      "a=1",
      "a=2",
      query.split("&")[1],
      query.split("&").at(-1),
      "signature=x",
      "expires=9999999999",
    ]) {
      expect(router.hasValidSignature(`${path}?${query}&${again}`)).toBe(false);
      expect(router.hasValidSignature(`${path}?${again}&${query}`)).toBe(false);
    }
  });

  test("with parts shifted between path, names and values", () => {
    const signed = router.signed("unsubscribe", { user: "x" }, { query: { a: "1&b=2" } });
    const signature = signed.split("signature=")[1];
    expect(router.hasValidSignature(`/unsubscribe/x?a=1&b=2&signature=${signature}`)).toBe(false);
    const marked = router.signed("unsubscribe", { user: "x?a=1" });
    expect(router.hasValidSignature(marked.replace("%3F", "?").replace("%3D", "=").replace("?sig", "&sig"))).toBe(
      false,
    );
  });

  test("signed with another key", () => {
    const other = routerWith(new Signer(generateSecret(), "signed-url"));
    expect(other.hasValidSignature(url)).toBe(false);
    expect(router.hasValidSignature(other.signed("unsubscribe", { user: 7 }))).toBe(false);
  });

  test("S8 signed for another purpose, even with the same secret", () => {
    const other = routerWith(new Signer(secret, "email-verification"));
    expect(other.hasValidSignature(url)).toBe(false);
    expect(router.hasValidSignature(other.signed("unsubscribe", { user: 7 }))).toBe(false);
  });

  test("S8 signed with a signed parameter, or the other way round, even with the same key", () => {
    const genuine = router.signed("unsubscribe", { user: 7 });
    const signature = genuine.split("signature=")[1]!;
    const covered = signer.verify(signature)!;
    const forged = router.to("value", { value: covered }).slice("/v/".length);
    expect(router.hasValidSignature(genuine.replace(signature, forged))).toBe(false);
    expect(router.match("GET", `/v/${signature}`, null)).toBeNull();
  });

  test("whatever the text, and never throws", () => {
    for (const text of [
      "?",
      "?signature",
      "?signature=%",
      "//?signature=.",
      "http://",
      "http://?signature=a.b",
      "\0",
      "#?",
    ]) {
      expect(router.hasValidSignature(text)).toBe(false);
    }
  });
});

describe("signing is refused", () => {
  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300, "10" as never])("for %s minutes", (minutes) => {
    expect(() => router.signed("unsubscribe", { user: 7 }, { expiresInMinutes: minutes })).toThrow(
      expect.objectContaining({ code: "E_INVALID_ROUTE_PARAMETER" }),
    );
  });

  test("for a query that uses a reserved name", () => {
    for (const name of ["expires", "signature"]) {
      expect(() => router.signed("unsubscribe", { user: 7 }, { query: { [name]: 1 } })).toThrow(
        expect.objectContaining({ code: "E_INVALID_ROUTE_PARAMETER" }),
      );
    }
  });

  test("for anything without a key", () => {
    const keyless = routerWith(null);
    const refusal = expect.objectContaining({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining("APP_KEY"),
    });
    expect(() => keyless.signed("unsubscribe", { user: 7 })).toThrow(refusal);
    expect(() => keyless.hasValidSignature("/unsubscribe/7?signature=x")).toThrow(refusal);
  });

  test("for an unknown route or a missing parameter", () => {
    expect(() => router.signed("nothing")).toThrow(expect.objectContaining({ code: "E_UNKNOWN_ROUTE" }));
    expect(() => router.signed("unsubscribe")).toThrow(expect.objectContaining({ code: "E_MISSING_ROUTE_PARAMETER" }));
  });
});
