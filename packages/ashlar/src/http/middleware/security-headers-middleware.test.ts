import { expect, test } from "vitest";
import { type ContextOptions, makeContext } from "../../../test/support/http-context.ts";
import type { HttpContext } from "../exchange/context.ts";
import { toResponse } from "../exchange/respond.ts";
import { SecurityHeadersMiddleware } from "./security-headers-middleware.ts";

function answer(
  middleware: SecurityHeadersMiddleware,
  handler: (context: HttpContext) => unknown,
  options: ContextOptions = {},
): Headers {
  const context = makeContext(options);
  return toResponse(
    context,
    middleware.handle(context, () => handler(context)),
  ).headers;
}

test("S49 a page may load and run only same-origin resources, and cannot be framed", () => {
  const headers = answer(new SecurityHeadersMiddleware(), () => "<h1>Hello</h1>");
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'",
  );
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("x-frame-options")).toBe("DENY");
  expect(headers.get("referrer-policy")).toBe("strict-origin-when-cross-origin");
});

test("S160 a page shares its window only with those it opens, its content with no other origin, and uses no devices", () => {
  const headers = answer(new SecurityHeadersMiddleware(), () => "<h1>Hello</h1>");
  expect(headers.get("cross-origin-opener-policy")).toBe("same-origin-allow-popups");
  expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
  expect(headers.get("permissions-policy")).toBe(
    "camera=(), display-capture=(), geolocation=(), hid=(), microphone=(), midi=(), serial=(), usb=()",
  );
});

test.each<[string | null, readonly string[], string]>([
  ["https://shop.example", ["https://www.shop.example", "https://admin.shop.example:8443"], "same-site"],
  ["https://shop.example", ["https://www.shop.example", "https://other.example"], "cross-origin"],
  ["https://shop.example", ["http://www.shop.example"], "cross-origin"],
  ["http://localhost:3000", ["http://localhost:5173"], "same-site"],
  [null, ["http://localhost:5173"], "cross-origin"],
])(
  "S160 pages of trusted origins may embed what this one sends: %j with %j is %s",
  (appUrl, trustedOrigins, expected) => {
    const headers = answer(new SecurityHeadersMiddleware(), () => "x", { appUrl, trustedOrigins });
    expect(headers.get("cross-origin-resource-policy")).toBe(expected);
  },
);

test("a subclass replaces the values derived from the trusted origins, and single permissions", () => {
  class Own extends SecurityHeadersMiddleware {
    static override headers = { ...SecurityHeadersMiddleware.headers, "cross-origin-resource-policy": "same-origin" };
    static override permissions: Record<string, string> = { geolocation: '(self "https://map.example")', camera: "()" };
  }
  const headers = answer(new Own(), () => "x", { trustedOrigins: ["https://other.example"] });
  expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
  expect(headers.get("permissions-policy")).toBe('geolocation=(self "https://map.example"), camera=()');
  class None extends Own {
    static override permissions: Record<string, string> = {};
  }
  expect(answer(new None(), () => "x").has("permissions-policy")).toBe(false);
});

test.each([
  ["'self'", "'self' https://app.example https://admin.example"],
  ["'self' https://pay.example", "'self' https://pay.example https://app.example https://admin.example"],
  ["'none'", "'none'"],
])("S130 a form-action of %j lets forms lead to the trusted origins, too", (formAction, expected) => {
  class Strict extends SecurityHeadersMiddleware {
    static override policy = { ...SecurityHeadersMiddleware.policy, "form-action": formAction };
  }
  const trustedOrigins = ["https://app.example", "https://admin.example"];
  const policy = answer(new Strict(), () => "x", { trustedOrigins }).get("content-security-policy");
  expect(policy?.split("; ").at(-1)).toBe(`form-action ${expected}`);
  const alone = answer(new Strict(), () => "x").get("content-security-policy");
  expect(alone?.split("; ").at(-1)).toBe(`form-action ${formAction}`);
});

test("S49 nothing inline is allowed", () => {
  const policy = answer(new SecurityHeadersMiddleware(), () => "x").get("content-security-policy");
  expect(policy).not.toMatch(/unsafe|nonce|data:|\*/);
});

test("a handler decides", () => {
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

test("S46 a subclass with a value that contains a line break fails startup", () => {
  class Broken extends SecurityHeadersMiddleware {
    static override policy = { ...SecurityHeadersMiddleware.policy, "img-src": "'self'\r\nSet-Cookie: a=b" };
  }
  class BrokenFiles extends SecurityHeadersMiddleware {
    static override fileHeaders = { "X-Robots-Tag": "noindex\nSet-Cookie: a=b" };
  }
  for (const Middleware of [Broken, BrokenFiles]) {
    expect(() => new Middleware()).toThrow(expect.objectContaining({ code: "E_INVALID_HEADER" }));
  }
});
