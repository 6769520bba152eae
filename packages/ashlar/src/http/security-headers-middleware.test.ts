import { describe, expect, test } from "vitest";
import { makeContext } from "../../test/support/http-context.ts";
import { createApplication } from "../boot/index.ts";
import { HttpKernel } from "../kernel/index.ts";
import { Route } from "../routing/index.ts";
import { generateSecret } from "../security/index.ts";
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

test("S49 a page may run and load what is its own, and is framed by nobody", () => {
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

describe("S63 Strict-Transport-Security", () => {
  class Kernel extends HttpKernel {
    override routeMiddleware = { web: [SecurityHeadersMiddleware], api: [] };
  }
  const KEY = generateSecret();
  const header = async (environment: Record<string, string>) => {
    const routes = [Route.get("/", () => "<h1>Hello</h1>")];
    const application = await createApplication({
      kernel: Kernel,
      routes,
      environment: { APP_KEY: KEY, ...environment },
    });
    const { headers } = await application.fetch(new Request("http://shop.example/"));
    await application.shutdown();
    return headers.get("strict-transport-security");
  };

  test("S63 a page in production under https carries it, and no other", async () => {
    expect(await header({ APP_ENV: "production", APP_URL: "https://shop.example" })).toBe("max-age=31536000");
    expect(await header({ APP_ENV: "production", APP_URL: "http://shop.example" })).toBe(null);
    expect(await header({ APP_ENV: "test", APP_URL: "https://shop.example" })).toBe(null);
  });
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

test("S46 a subclass with a value that would end the header is told so at boot", () => {
  class Broken extends SecurityHeadersMiddleware {
    static override policy = { ...SecurityHeadersMiddleware.policy, "img-src": "'self'\r\nSet-Cookie: a=b" };
  }
  expect(() => new Broken()).toThrow(expect.objectContaining({ code: "E_INVALID_HEADER" }));
});
