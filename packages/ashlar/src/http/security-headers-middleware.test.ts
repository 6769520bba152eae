import { expect, test } from "vitest";
import { makeContext } from "../../test/support/http-context.ts";
import type { HttpContext } from "./context.ts";
import { toResponse } from "./respond.ts";
import { SecurityHeadersMiddleware } from "./security-headers-middleware.ts";

function answer(middleware: SecurityHeadersMiddleware, handler: (context: HttpContext) => unknown): Headers {
  const context = makeContext();
  return toResponse(
    context,
    middleware.handle(context, () => handler(context)),
  ).headers;
}

test("S49 a page may load and run only same-origin resources, and cannot be framed", () => {
  const headers = answer(new SecurityHeadersMiddleware(), () => "<h1>Hello</h1>");
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  );
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("x-frame-options")).toBe("DENY");
  expect(headers.get("referrer-policy")).toBe("strict-origin-when-cross-origin");
});

test("S49 nothing inline is allowed", () => {
  const policy = answer(new SecurityHeadersMiddleware(), () => "x").get("content-security-policy");
  expect(policy).not.toMatch(/unsafe|nonce|data:|\*/);
});

test("a handler has the last word", () => {
  const headers = answer(new SecurityHeadersMiddleware(), ({ response }) => {
    response.header("Referrer-Policy", "no-referrer");
    return "x";
  });
  expect(headers.get("referrer-policy")).toBe("no-referrer");
});

test("a subclass loosens one directive and keeps the others", () => {
  class Images extends SecurityHeadersMiddleware {
    static override policy = { ...SecurityHeadersMiddleware.policy, "img-src": "'self' https://images.example" };
  }
  const policy = answer(new Images(), () => "x").get("content-security-policy");
  expect(policy).toContain("default-src 'self'");
  expect(policy).toContain("img-src 'self' https://images.example");
});

test("S46 a subclass with a value that contains a line break fails the boot", () => {
  class Broken extends SecurityHeadersMiddleware {
    static override policy = { ...SecurityHeadersMiddleware.policy, "img-src": "'self'\r\nSet-Cookie: a=b" };
  }
  expect(() => new Broken()).toThrow(expect.objectContaining({ code: "E_INVALID_HEADER" }));
});
