import { describe, expect, test } from "vitest";
import { type ContextOptions, makeContext } from "../../../test/support/http-context.ts";
import { AshlarError } from "../../support/index.ts";
import type { HttpResponse } from "./response.ts";

/** A redirect's target and status. */
function redirection(build: (response: HttpResponse) => unknown, options: ContextOptions = {}): string {
  const { response } = makeContext(options);
  build(response);
  const { headers, status } = response.toResponse();
  return `${status} ${headers.get("location")}`;
}

/** The code of the error that a function throws. */
function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return error instanceof AshlarError ? error.code : String(error);
  }
  return "no error";
}

describe("redirects", () => {
  test("go to a path of the application with 302, or a status set afterwards", () => {
    expect(redirection((response) => response.redirect("/orders?page=2"))).toBe("302 /orders?page=2");
    expect(redirection((response) => response.redirect("/orders").status(303))).toBe("303 /orders");
    const redirect = makeContext().response.redirect("/orders").toResponse();
    expect([...redirect.headers]).toEqual([
      ["location", "/orders"],
      ["x-content-type-options", "nosniff"],
    ]);
    expect(redirect.body).toBeNull();
  });

  test.each([
    "//e",
    "/\\e",
    "\\\\e",
    "https:e",
    "/%09/e",
    "/%5ce",
    "@e",
    "javascript:alert(1)",
    "data:,x",
    "/a\r\nb: c",
    `/${"a".repeat(4096)}`,
    "https://evil.example/",
    null,
    1,
  ])("S29 %j redirects to the default", (target) => {
    expect(redirection((response) => response.redirect(target))).toBe("302 /");
    expect(redirection((response) => response.redirect(target, "/home"))).toBe("302 /home");
  });

  test("reduce an absolute URL of the application to its path, and accept no other", () => {
    const options = { url: "http://acme.shop.example:8080/", appUrl: "https://shop.example" };
    const to = (url: string) => redirection((response) => response.redirect(url, "/default"), options);
    expect(to("https://shop.example/a?b")).toBe("302 /a?b");
    expect(to("http://acme.shop.example:8080/a")).toBe("302 /a");
    expect(to("https://shop.example//evil.example")).toBe("302 /default");
    expect(to("https://evil.example/a")).toBe("302 /default");
    expect(to("https://shop.example.evil.example/a")).toBe("302 /default");
  });

  test("back redirects to the page that the request came from if it is the application's own", () => {
    const back = (referer: string | undefined, appUrl: string | null = null) =>
      redirection((response) => response.back("/home"), {
        ...(referer === undefined ? {} : { headers: { referer } }),
        appUrl,
      });
    expect(back("http://localhost/form?a=1")).toBe("302 /form?a=1");
    expect(back("https://shop.example/form", "https://shop.example")).toBe("302 /form");
    expect(back("https://evil.example/form")).toBe("302 /home");
    expect(back("http://localhost//evil.example")).toBe("302 /home");
    expect(back("/form")).toBe("302 /home");
    expect(back("garbage")).toBe("302 /home");
    expect(back(undefined)).toBe("302 /home");
  });

  describe("S29 an absolute URL", () => {
    const options = {
      appUrl: "https://shop.example",
      trustedOrigins: ["https://app.shop.example", "http://localhost:5173"],
    };
    const to = (url: unknown) => redirection((response) => response.redirect(url, "/default"), options);

    test.each([
      ["https://app.shop.example/orders?page=2#top", "https://app.shop.example/orders?page=2#top"],
      ["https://app.shop.example", "https://app.shop.example/"],
      ["HTTPS://App.Shop.Example:443/a/../b", "https://app.shop.example/b"],
      ["http://localhost:5173/", "http://localhost:5173/"],
      ["https://app.shop.example//evil.example", "https://app.shop.example//evil.example"],
    ])("S29 of a trusted origin is a target: %s", (url, target) => {
      expect(to(url)).toBe(`302 ${target}`);
      const back = redirection((response) => response.back("/home"), { ...options, headers: { referer: url } });
      expect(back).toBe(`302 ${target}`);
    });

    test.each([
      "https://app.shop.example.evil.example/",
      "https://app.shop.example:8443/",
      "http://app.shop.example/",
      "https://evil.example/https://app.shop.example",
      "https://app.shop.example@evil.example/",
      "https://ada@app.shop.example/",
      "https://evil.example\\@app.shop.example/",
      "https:\\\\app.shop.example/",
      "https:app.shop.example",
      "https:/app.shop.example",
      "//app.shop.example/",
      " https://app.shop.example/",
      "https://app.shop.example/a b",
      "https://app.shop.example/\r\nset-cookie: a=b",
      "https://app.shop.example\\.evil.example/",
      "https://app.shop.example/a\\b",
      "javascript:alert(1)//https://app.shop.example/",
      `https://app.shop.example/${"a".repeat(2048)}`,
      ["https://app.shop.example/"],
      null,
    ])("S29 of any other is not: %j", (url) => {
      expect(to(url)).toBe("302 /default");
    });
  });

  test("go to a route by its name", () => {
    expect(redirection((response) => response.redirectToRoute("orders", { id: 7 }))).toBe("302 /orders/7");
  });

  test("S29 refuse a route's URL if a parameter turned it into another host's", () => {
    const { response } = makeContext();
    expect(codeOf(() => response.redirectToRoute("/evil.example"))).toBe("E_INVALID_REDIRECT");
    expect(codeOf(() => response.redirectToRoute("\\evil.example"))).toBe("E_INVALID_REDIRECT");
  });

  test("leave the application only with away, and only to http and https", () => {
    expect(redirection((response) => response.away("https://other.example/a?b#c"))).toBe(
      "302 https://other.example/a?b#c",
    );
    expect(redirection((response) => response.away(new URL("http://other.example")))).toBe("302 http://other.example/");
    for (const url of ["javascript:alert(1)", "data:,x", "ftp://a/b", "/a", "//a", "", "a\r\nb"]) {
      expect(codeOf(() => makeContext().response.away(url))).toBe("E_INVALID_REDIRECT");
    }
    expect(redirection((response) => response.away("https://a/\r\nSet-Cookie: b"))).toBe(
      "302 https://a/Set-Cookie:%20b",
    );
  });

  test("percent-encode non-ASCII characters", () => {
    expect(redirection((response) => response.redirect(null, "/café"))).toBe("302 /caf%C3%A9");
  });
});
