import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applicationOf, ask, json } from "../../../test/support/dispatched.ts";
import { createApplication } from "../../boot/application/create-application.ts";
import { Route } from "../../routing/index.ts";
import { HttpKernel } from "../pipeline/http-kernel.ts";

const ENVIRONMENT = { APP_ENV: "test" };

const form = (fields: Record<string, string>): RequestInit => ({ method: "POST", body: new URLSearchParams(fields) });
describe("the body and its method", () => {
  const routes = [
    Route.post("/orders", () => "POST"),
    Route.put(
      "/orders/@id",
      ({ request }) => `${request.getRequestMethod()} ${request.param("id")} ${request.input("a")}`,
    ),
    Route.delete("/orders", ({ request }) => `DELETE ${request.route()?.methods.join()}`),
  ];

  test("a form's __method selects the route of that method, with its parameters", async () => {
    const application = await applicationOf(routes);
    expect((await ask(application, "/orders/7", form({ __method: "PUT", a: "b" }))).body).toBe("PUT 7 b");
    expect((await ask(application, "/orders/7", json({ __method: "put", a: "b" }))).body).toBe("PUT 7 b");
    expect((await ask(application, "/orders", form({ __method: "DELETE" }))).body).toBe("DELETE DELETE");
    const body = new FormData();
    body.set("__method", "DELETE");
    expect((await ask(application, "/orders", { method: "POST", body })).body).toBe("DELETE DELETE");
  });

  test("__method is ignored in the query, on methods other than POST, and with unsupported values", async () => {
    const application = await applicationOf(routes);
    expect((await ask(application, "/orders?__method=DELETE", { method: "POST" })).body).toBe("POST");
    expect((await ask(application, "/orders", form({ __method: "GET" }))).body).toBe("POST");
    expect((await ask(application, "/orders", form({ __method: "TRACE" }))).body).toBe("POST");
    expect((await ask(application, "/orders", { ...form({ __method: "PUT" }), method: "PATCH" })).status).toBe(405);
  });

  test("if the path has no route for __method, the request stays a POST", async () => {
    const application = await applicationOf(routes);
    expect((await ask(application, "/orders", form({ __method: "PATCH" }))).body).toBe("POST");
    expect((await ask(application, "/orders/7", form({ __method: "PATCH" }))).status).toBe(405);
    expect((await ask(application, "/orders/7", form({}))).status).toBe(405);
  });

  test("a request's body is not read without a matching route", async () => {
    const application = await applicationOf(routes);
    const raw = new Request("http://localhost/nowhere", form({ a: "b" }));
    expect((await application.fetch(raw)).status).toBe(404);
    expect(raw.bodyUsed).toBe(false);
  });

  test("middleware and handlers read inputs without awaiting, and a handler may be synchronous", async () => {
    const seen: unknown[] = [];
    const application = await applicationOf(
      [Route.post("/", ({ request }) => ({ a: request.input("a") }))],
      [
        ({ request }, next) => {
          seen.push(request.input("a"));
          return next();
        },
      ],
    );
    expect((await ask(application, "/", json({ a: 1 }))).body).toBe('{"a":1}');
    expect(seen).toEqual([1]);
  });
});

describe("S42 any malformed body is a 4xx", () => {
  const routes = [
    Route.post("/read", ({ request }) => request.all()),
    Route.post("/untouched", () => "did not look"),
    Route.put("/read", ({ request }) => request.all()),
  ];

  test.each<[string, string | Uint8Array<ArrayBuffer>, string, number]>([
    ["JSON syntax", "{", "application/json", 400],
    ["JSON cut short", '{"a":', "application/json", 400],
    ["a scalar", "1", "application/json", 400],
    ["bad UTF-8", new Uint8Array([0x7b, 0xff, 0x7d]), "application/json", 400],
    ["depth", "[".repeat(100) + "]".repeat(100), "application/json", 400],
    ["no boundary", "a=b", "multipart/form-data", 400],
    ["multipart that never begins", "nothing", "multipart/form-data; boundary=x", 400],
    ["too many fields", "a=1&".repeat(1001), "application/x-www-form-urlencoded", 400],
    ["too large", "a".repeat(1_048_577), "application/json", 413],
    ["too large, of a type that is not read", "a".repeat(1_048_577), "text/plain", 413],
  ])("S42 %s", async (_, body, type, status) => {
    const application = await applicationOf(routes);
    const init = { method: "POST", body, headers: { "content-type": type, accept: "application/json" } };
    const answer = await ask(application, "/read", init);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/problem+json"]);
    expect(JSON.parse(answer.body)).toMatchObject({ status, type: "about:blank" });
  });

  test("S42 random bytes of any content type never cause a 500, with routes for __method as well", async () => {
    const application = await applicationOf(routes);
    const type = fc.constantFrom(
      "application/json",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "multipart/form-data; boundary=",
      "application/problem+json; charset=latin1",
      "text/plain",
      "",
      "garbage",
    );
    const piece = fc.constantFrom(
      "__method",
      "=",
      "&",
      "PUT",
      "{",
      "}",
      '"',
      "--x",
      "\r\n",
      "[",
      "]",
      "%",
      "\0",
      "é",
      ":",
    );
    await fc.assert(
      fc.asyncProperty(
        type,
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }),
          fc.array(piece, { maxLength: 40 }).map((all) => all.join("")),
        ),
        async (contentType, body) => {
          const init = { method: "POST", body, headers: { "content-type": contentType } };
          expect((await ask(application, "/read", init)).status).toBeLessThan(500);
        },
      ),
      { numRuns: 400 },
    );
  });

  test("S42 a malformed path is a 400, and a malformed query is decoded as far as possible", async () => {
    const application = await applicationOf([
      Route.get("/@name", ({ request }) => `${request.param("name")} ${request.input("a")}`),
    ]);
    for (const path of ["/%", "/%zz", "/%ff", "/%c3%28", "/%00", "/a%"]) {
      expect([path, (await ask(application, path)).status]).toEqual([path, 400]);
    }
    expect((await ask(application, "/x?a=%ff")).body).toBe("x \ufffd");
    expect((await ask(application, "/x?a=50%")).body).toBe("x 50%");
  });

  test("S42 no path causes a status of 500 or above", async () => {
    const application = await applicationOf([Route.get("/a/@id", () => "a"), Route.get("/@rest:any", () => "rest")]);
    const piece = fc.constantFrom(
      "/",
      "%",
      "2",
      "f",
      "..",
      ".",
      "a",
      "\\",
      "%00",
      "%2f",
      "@",
      "?",
      "#",
      "é",
      "%c3",
      ";",
      ":",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const url = URL.parse(`http://localhost/${pieces.join("")}`);
        fc.pre(url !== null);
        expect((await application.fetch(new Request(url!))).status).toBeLessThan(500);
      }),
      { numRuns: 300 },
    );
  });
});

describe("S30 other spellings of a path do not bypass its middleware", () => {
  test("S30 any spelling of a guarded path is guarded or not found", async () => {
    class Kernel extends HttpKernel {
      override routeMiddleware = {
        web: [],
        closed: [() => new Response("refused", { status: 403 })],
      };
    }
    const application = await createApplication({
      kernel: Kernel,
      environment: ENVIRONMENT,
      routes: [
        Route.post("/login", () => "in").middleware("closed"),
        Route.get("/login", () => "in").middleware("closed"),
      ],
    });
    const spellings = [
      "/login/",
      "//login",
      "/LOGIN",
      "/%6cogin",
      "/login%2f",
      "/login;a=b",
      "/./login",
      "/a/../login",
    ];
    for (const path of [...spellings, "/login?x", "/login/?x", "/login%20", "/login\\", "/%2flogin", "/login//"]) {
      for (const method of ["GET", "HEAD", "POST"]) {
        const { status, body } = await ask(application, path, { method });
        expect([path, method, body.includes(">in") || body === "in", [403, 404, 400].includes(status)]).toEqual([
          path,
          method,
          false,
          true,
        ]);
      }
    }
    expect((await ask(application, "/login/")).status).toBe(403);
    expect((await ask(application, "/a/../login")).status).toBe(403);
  });
});
