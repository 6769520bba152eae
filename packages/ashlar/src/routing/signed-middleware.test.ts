import { describe, expect, test } from "vitest";
import { DEFAULT_BODY_LIMITS, HttpContext, type MiddlewareClass } from "../http/index.ts";
import { generateSecret, Signer } from "../security/index.ts";
import { Route } from "./route.ts";
import { Router } from "./router.ts";
import { SignedMiddleware } from "./signed-middleware.ts";

const router = new Router(
  [
    {
      entries: [Route.get("/leave/@id", () => "left").name("leave")],
      stack: null,
      prefix: "",
      answersJson: false,
      file: "routes/web.ts",
    },
  ],
  { signer: new Signer(generateSecret(), "signed-url") },
);

const services = { make: (_: "router") => router };

function contextFor(path: string): HttpContext {
  const request = new Request(`http://localhost:3000${path}`);
  return new HttpContext(request, { urls: router, limits: DEFAULT_BODY_LIMITS, appUrl: null }, null);
}

describe("SignedMiddleware", () => {
  const Class: MiddlewareClass<typeof services> = SignedMiddleware;
  const middleware = new Class(services);

  test("a signed URL passes, with what the handler returns", () => {
    const url = router.signed("leave", { id: 7 }, { expiresInMinutes: 5 });
    expect(middleware.handle(contextFor(url), () => "left")).toBe("left");
  });

  test("any other is refused, and the handler is not asked", () => {
    let asked = 0;
    const url = router.signed("leave", { id: 7 });
    for (const path of ["/leave/7", url.replace("7", "8"), `${url}&x=1`]) {
      expect(() => middleware.handle(contextFor(path), () => asked++)).toThrow(
        expect.objectContaining({ code: "E_INVALID_SIGNATURE", status: 403 }),
      );
    }
    expect(asked).toBe(0);
  });

  test("the router is looked for at the first request, for it is bound after the middleware is made", () => {
    const late = new SignedMiddleware({
      make: () => {
        throw new Error("asked too early");
      },
    });
    expect(() => late.handle(contextFor("/leave/7"), () => null)).toThrow("asked too early");
  });
});
