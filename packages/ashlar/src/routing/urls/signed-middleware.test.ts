import { describe, expect, test } from "vitest";
import {
  DEFAULT_BODY_LIMITS,
  HeldBodies,
  HttpContext,
  type HttpServices,
  type MiddlewareClass,
  TrustedOrigins,
  TrustedProxies,
} from "../../http/index.ts";
import { Catalogue } from "../../messages/index.ts";
import { generateSecret, Signer } from "../../security/index.ts";
import { Route } from "../definitions/route.ts";
import { Router } from "../router.ts";
import { SignedMiddleware } from "./signed-middleware.ts";

const router = new Router(
  [
    {
      entries: [Route.get("/leave/@id", () => "left").name("leave")],
      stack: null,
      prefix: "",
      respondsWithJson: false,
      file: "routes/web.ts",
    },
  ],
  { signer: new Signer(generateSecret(), "signed-url") },
);

const services = { make: (_: "router") => router };

const requestServices: HttpServices = {
  urls: router,
  limits: DEFAULT_BODY_LIMITS,
  bodies: new HeldBodies(DEFAULT_BODY_LIMITS),
  appUrl: null,
  basePath: "",
  messages: new Catalogue(),
  proxies: new TrustedProxies(),
  origins: new TrustedOrigins(),
  strictTransportSecurity: null,
};

function contextFor(path: string): HttpContext {
  const request = new Request(`http://localhost:3000${path}`);
  return new HttpContext(request, requestServices, null);
}

describe("SignedMiddleware", () => {
  const Class: MiddlewareClass<typeof services> = SignedMiddleware;
  const middleware = new Class(services);

  test("a signed URL passes, and the handler's result is returned", () => {
    const url = router.signed("leave", { id: 7 }, { expiresInMinutes: 5 });
    expect(middleware.handle(contextFor(url), () => "left")).toBe("left");
  });

  test("any other URL is refused without calling the handler", () => {
    let asked = 0;
    const url = router.signed("leave", { id: 7 });
    for (const path of ["/leave/7", url.replace("7", "8"), `${url}&x=1`]) {
      expect(() => middleware.handle(contextFor(path), () => asked++)).toThrow(
        expect.objectContaining({ code: "E_INVALID_SIGNATURE", status: 403 }),
      );
    }
    expect(asked).toBe(0);
  });

  test.each([
    ["a form", "application/x-www-form-urlencoded", "user=2"],
    ["a form with brackets", "application/x-www-form-urlencoded", "user[id]=2"],
    ["JSON", "application/json", '{"user":2}'],
    ["JSON with a path for a name", "application/json", '{"user.id":2}'],
  ])("signed inputs cannot be overridden by %s in the body", async (_kind, type, body) => {
    const url = router.signed("leave", { id: 7 }, { query: { user: 1 } });
    const handle = async (content: string) => {
      const init = { method: "POST", headers: { "content-type": type }, body: content };
      const raw = new Request(`http://localhost:3000${url}`, init);
      const context = new HttpContext(raw, requestServices, null);
      await context.request.loadBody();
      return middleware.handle(context, () => context.request.input("user"));
    };
    await expect(handle(body)).rejects.toMatchObject({ code: "E_INVALID_SIGNATURE" });
    expect(await handle(body.replace("user", "reason"))).toBe("1");
  });

  test("the router is resolved at the first request, because it is bound after the middleware is created", () => {
    const late = new SignedMiddleware({
      make: () => {
        throw new Error("asked too early");
      },
    });
    expect(() => late.handle(contextFor("/leave/7"), () => null)).toThrow("asked too early");
  });
});
