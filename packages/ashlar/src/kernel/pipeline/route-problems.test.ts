import { describe, expect, test } from "vitest";
import { type ApplicationOptions, createApplication } from "../../boot/application/create-application.ts";
import type { HttpContext, Next } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import { HttpKernel } from "./http-kernel.ts";
// Declares the error code for an unknown guard.
import "../../auth/errors.ts";

async function failure(options: ApplicationOptions): Promise<AshlarError> {
  try {
    await createApplication({ environment: { APP_ENV: "test" }, ...options });
  } catch (error) {
    if (error instanceof AshlarError) return error;
    throw error;
  }
  throw new Error("It booted.");
}

describe("every problem in the routes is found at boot, with its location", () => {
  const place = String.raw`packages/ashlar/src/kernel/pipeline/route-problems\.test\.ts:\d+: `;

  test("an unknown middleware, with similar names", async () => {
    class Named extends HttpKernel {
      override routeMiddleware = { web: [], guard: [], verified: [] };
    }
    const error = await failure({ kernel: Named, routes: [Route.get("/", () => "x").middleware("gaurd:jwt")] });
    expect(error.code).toBe("E_INVALID_ROUTE");
    expect(error.message).toMatch(
      new RegExp(
        `^${place}GET /: the middleware "gaurd" is unknown. Did you mean "guard"\\? Middleware is named in routeMiddleware in app/kernel.ts\\.$`,
      ),
    );
  });

  test("names on an object's prototype are unknown as well", async () => {
    for (const name of ["constructor", "toString", "__proto__"]) {
      const error = await failure({ routes: [Route.get("/", () => "x").middleware(name)] });
      expect(error.message).toContain(`the middleware "${name}" is unknown`);
    }
  });

  test("a stack that the kernel does not have", async () => {
    class Bare extends HttpKernel {}
    const error = await failure({ kernel: Bare, routes: [Route.get("/", () => "x")] });
    expect(error.message).toMatch(
      new RegExp(
        `^${place}GET /: the kernel's routeMiddleware has no stack "web", which every route of this file goes through\\. Add it to app/kernel.ts: web: \\[\\]$`,
      ),
    );
    // An empty list would open every API route to everyone.
    const api = await failure({
      kernel: Bare,
      routes: [
        Route.get("/", () => "x")
          .withoutMiddleware("web")
          .middleware("api"),
      ],
    });
    expect(api.message).toMatch(/Add it to app\/kernel\.ts: api: \[JWTAuthenticationMiddleware\]$/);
    const without = await createApplication({
      kernel: Bare,
      routes: [Route.get("/", () => "x").withoutMiddleware("web")],
      environment: { APP_ENV: "test" },
    });
    const response = await without.fetch(new Request("http://localhost/"));
    expect(await response.text()).toBe("x");
  });

  test("a page in an application without views", async () => {
    const error = await failure({ routes: [Route.view("/", "welcome")] });
    expect(error.message).toMatch(
      new RegExp(
        `^${place}GET /: the page "welcome" needs views\\. Add ViewProvider to PROVIDERS in config/providers\\.ts\\.$`,
      ),
    );
  });

  test("arguments that a middleware rejects, with its own error code if all problems share it", async () => {
    class Guard {
      handle(_: HttpContext, next: Next): unknown {
        return next();
      }
      checkArguments(name: string): void {
        if (name !== "jwt") throw new AshlarError("E_UNKNOWN_GUARD", `there is no guard "${name}".`);
      }
    }
    class Guarded extends HttpKernel {
      override routeMiddleware = { web: [], guard: [Guard] };
    }
    const good = Route.get("/good", () => "x").middleware("guard:jwt");
    const dynamic = Route.get("/dynamic/@guard", () => "x").middleware("guard:@guard");
    const bad = ["web", "basic"].map((name) => Route.get(`/${name}`, () => "x").middleware(`guard:${name}`));
    const error = await failure({ kernel: Guarded, routes: [good, dynamic, ...bad] });
    expect(error.code).toBe("E_UNKNOWN_GUARD");
    expect(error.message.split("\n").map((line) => line.replace(/^.*?: /, ""))).toEqual([
      'GET /web: there is no guard "web".',
      'GET /basic: there is no guard "basic".',
    ]);
    const mixed = await failure({
      kernel: Guarded,
      routes: [...bad, Route.get("/x", () => "x").middleware("nothing")],
    });
    expect(mixed.code).toBe("E_INVALID_ROUTE");
    expect(mixed.message.split("\n")).toHaveLength(3);
  });

  test("an argument that names a parameter the route does not have", async () => {
    class Named extends HttpKernel {
      override routeMiddleware = { web: [], can: [(_: HttpContext, next: Next) => next()] };
    }
    const error = await failure({
      kernel: Named,
      routes: [Route.get("/orders/@order_id", () => "x").middleware("can:@orderid")],
    });
    expect(error.message).toMatch(
      new RegExp(
        `^${place}GET /orders/@order_id: "can:@orderid" names a parameter that the route does not have\\. Did you mean "order_id"\\?$`,
      ),
    );
  });

  test("two routes with the same name", async () => {
    const error = await failure({
      routes: [Route.get("/a", () => "a").name("x"), Route.get("/b", () => "b").name("x")],
    });
    expect([error.code, error.message.includes("route-problems.test.ts:")]).toEqual(["E_INVALID_ROUTE", true]);
  });
});
