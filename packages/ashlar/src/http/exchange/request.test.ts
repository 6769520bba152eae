import { get } from "node:http";
import { serve } from "srvx";
import { describe, expect, test } from "vitest";
import { makeContext, makeLoadedContext } from "../../../test/support/http-context.ts";
import { IpMiddleware } from "../middleware/ip-middleware.ts";
import { HttpContext } from "./context.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const JSON_BODY = { "content-type": "application/json" };

describe("headers of the request", () => {
  test("are read by name in any case, with dashes or underscores", () => {
    const { request } = makeContext({ headers: JSON_BODY });
    for (const name of ["content_type", "Content-Type", "CONTENT-TYPE"]) {
      expect(request.header(name)).toBe("application/json");
    }
  });

  test("are null if they are missing or if the name is invalid", () => {
    const { request } = makeContext();
    for (const name of ["x-absent", "", "a b", "é", "a\r\nb", "__proto__", "constructor"]) {
      expect(request.header(name)).toBeNull();
    }
  });

  test("can be set and read back by any spelling, without changing the platform's request", () => {
    const { request } = makeContext({ headers: { "x-a": "sent" } });
    expect(request.header("X_A", "set").header("x-a")).toBe("set");
    expect(request.raw.headers.get("x-a")).toBe("sent");
  });

  test("S45 that are set on the request never appear in the response", () => {
    const context = makeContext();
    context.request.header("X-A", "set").cookie("token", "set");
    expect(context.startedResponse).toBeNull();
    expect([...context.response.json({}).toResponse().headers]).toEqual([
      ["content-type", "application/json; charset=utf-8"],
      ["x-content-type-options", "nosniff"],
    ]);
  });

  test("S46 with a line break are refused", () => {
    expect(() => makeContext().request.header("x-a", "a\r\nb")).toThrow('The value of the header "x-a" contains');
  });
});

describe("cookies of the request", () => {
  test("are decoded, and null if missing", () => {
    const { request } = makeContext({ headers: { cookie: "token=a%20b; theme=dark" } });
    expect([request.cookie("token"), request.cookie("theme"), request.cookie("x")]).toEqual(["a b", "dark", null]);
    expect([request.cookie("__proto__"), request.cookie("constructor"), request.cookie("toString")]).toEqual([
      null,
      null,
      null,
    ]);
  });

  test("S45 can be set and read back, but appear in no later request and no response", () => {
    const context = makeContext({ headers: { cookie: "a=1" } });
    expect(context.request.cookie("a", "2")).toBe(context.request);
    context.request.cookie("b", "3");
    expect([context.request.cookie("a"), context.request.cookie("b")]).toEqual(["2", "3"]);
    expect(context.request.raw.headers.get("cookie")).toBe("a=1");
    expect(context.response.text("").toResponse().headers.getSetCookie()).toEqual([]);
    expect(makeContext({ headers: { cookie: "a=1" } }).request.cookie("a")).toBe("1");
  });

  test("change when the Cookie header is set", () => {
    const { request } = makeContext({ headers: { cookie: "a=1" } });
    expect(request.cookie("a")).toBe("1");
    request.header("Cookie", "a=2; b=3");
    expect([request.cookie("a"), request.cookie("b")]).toEqual(["2", "3"]);
  });

  test("are replaced when the Cookie header is set after a single cookie", () => {
    const { request } = makeContext({ headers: { cookie: "a=1" } });
    request.cookie("a", "2").header("Cookie", "b=3");
    expect([request.cookie("a"), request.cookie("b")]).toEqual([null, "3"]);
  });
});

describe("path and method", () => {
  test("the path is the URL's, without its query and still encoded", () => {
    const { request } = makeContext({ url: "http://localhost/a%20b/c?d=e#f" });
    expect(request.getPath()).toBe("/a%20b/c");
  });

  test.each([
    ["/test", "/test", true],
    ["/test/user", "/test/*", true],
    ["/test/admin/user", "/test/*/user", true],
    ["/any/thing", "*", true],
    ["/dashboard/1/users", "/dashboard/*/users", true],
    ["/testing", "/test", false],
    ["/a/b/c", "/a/*/d", false],
  ])("the path %s contains %s: %s", (path, glob, expected) => {
    expect(makeContext({ url: `http://localhost${path}?q=/x` }).request.contains(glob)).toBe(expected);
  });

  test("__method counts in the body of a POST, but not in the query of a POST or a GET", async () => {
    const inBody = await makeLoadedContext({ headers: FORM, body: "a=1&__method=PATCH" });
    const inQuery = await makeLoadedContext({ url: "http://localhost/?__method=PATCH", headers: FORM, body: "a=1" });
    const inGet = await makeLoadedContext({ url: "http://localhost/?__method=PATCH" });
    const inPut = await makeLoadedContext({ method: "PUT", headers: FORM, body: "__method=DELETE" });
    const methods = [inBody, inQuery, inGet, inPut].map(({ request }) => request.getRequestMethod());
    expect(methods).toEqual(["PATCH", "POST", "GET", "PUT"]);
  });

  test("__method counts in a multipart form and in JSON", async () => {
    const body = new FormData();
    body.append("__method", "delete");
    expect((await makeLoadedContext({ body })).request.getRequestMethod()).toBe("DELETE");
    const json = await makeLoadedContext({ headers: JSON_BODY, body: '{"__method":"PUT"}' });
    expect(json.request.getRequestMethod()).toBe("PUT");
  });

  test("the method is the HTTP method until the body is read, and the override afterwards", async () => {
    const { request } = makeContext({ headers: FORM, body: "__method=PUT" });
    expect(request.getRequestMethod()).toBe("POST");
    await request.loadBody();
    expect(request.getRequestMethod()).toBe("PUT");
  });

  test("S42 a malformed body does not change the method", async () => {
    const { request } = await makeLoadedContext({ headers: JSON_BODY, body: '{"__method":"PUT"' });
    expect(request.getRequestMethod()).toBe("POST");
    expect(() => request.all()).toThrow();
  });
});

describe("host and URL", () => {
  test("host and subdomain come without the port", () => {
    const { request } = makeContext({ url: "http://work.example.com:8080/" });
    expect([request.getSubdomain(), request.getHost()]).toEqual(["work", "example.com"]);
  });

  test("the Host header is used if it is valid, and garbage in it is safe", () => {
    const { request } = makeContext({ headers: { host: "a.b.co.uk" } });
    expect([request.getSubdomain(), request.getHost()]).toEqual(["a", "b.co.uk"]);
    const garbage = makeContext({ headers: { host: "<script>" } }).request;
    expect([garbage.getSubdomain(), garbage.getHost()]).toEqual([null, ""]);
  });

  test("url has no query and fullUrl has it", () => {
    const { request } = makeContext({ url: "https://shop.example/a?b=c#d" });
    expect([request.url(), request.fullUrl()]).toEqual(["https://shop.example/a", "https://shop.example/a?b=c"]);
  });

  test("S40 if APP_URL is set, the Host header never gets into a URL", () => {
    const options = {
      url: "http://evil.example/a?b=c",
      headers: { host: "evil.example" },
      appUrl: "https://shop.example",
    };
    const { request } = makeContext(options);
    expect([request.url(), request.fullUrl()]).toEqual(["https://shop.example/a", "https://shop.example/a?b=c"]);
  });

  test("the request is secure by its own URL or by APP_URL, never by a header", () => {
    const isSecure = (url: string, appUrl: string | null) =>
      makeContext({ url, appUrl, headers: { "x-forwarded-proto": "https" } }).request.isSecure();
    expect(isSecure("https://a/", null)).toBe(true);
    expect(isSecure("http://a/", "https://a")).toBe(true);
    expect(isSecure("http://a/", null)).toBe(false);
    expect(isSecure("http://a/", "http://a")).toBe(false);
  });
});

describe("route, user and id", () => {
  test("the matched route and its parameters can be read", () => {
    const { request } = makeContext({
      route: { name: "orders.show", pattern: "/orders/@id" },
      params: { id: "7", page: null },
    });
    expect(request.route()).toEqual({
      name: "orders.show",
      pattern: "/orders/@id",
      methods: ["GET"],
      middleware: [],
      respondsWithJson: false,
    });
    expect([request.param("id"), request.param("page"), request.param("x")]).toEqual(["7", null, null]);
    expect(request.params).toEqual({ id: "7", page: null });
  });

  test("S43 without a route there are no parameters, not even inherited ones", () => {
    const { request } = makeContext();
    expect([request.route(), request.param("id"), request.param("__proto__"), request.param("constructor")]).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  test("a later match replaces the route and its parameters", () => {
    const { request } = makeContext({ route: { pattern: "/a" } });
    const route = { name: null, pattern: "/b", methods: ["PUT"], middleware: [], respondsWithJson: true };
    request.useMatch({ route, params: { id: "1" } });
    expect([request.route(), request.param("id"), request.wantsJson()]).toEqual([route, "1", true]);
  });

  test("user is null until a guard loads one", () => {
    const context = makeContext();
    expect(context.request.user()).toBeNull();
    const user = { id: 1 };
    context.currentUser = user;
    expect(context.request.user()).toBe(user);
  });

  test("the id is a UUID, constant for a request, and different for each one", () => {
    const { request } = makeContext();
    expect(request.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(request.id).toBe(request.id);
    expect(makeContext().request.id).not.toBe(request.id);
  });

  test("the user agent is a header", () => {
    expect(makeContext({ headers: { "user-agent": "curl/8" } }).request.userAgent()).toBe("curl/8");
    expect(makeContext().request.userAgent()).toBeNull();
  });
});

describe("the bearer token", () => {
  test("S14 comes from the Authorization header, including one that was set", () => {
    const { request } = makeContext({ headers: { authorization: "bearer abc" } });
    expect(request.bearerToken()).toBe("abc");
    expect(request.header("Authorization", "Basic dXNlcjpwYXNz").bearerToken()).toBeNull();
  });

  test("S14 is null with two headers, and with none", () => {
    const headers: [string, string][] = [
      ["authorization", "Bearer abc"],
      ["authorization", "Bearer def"],
    ];
    expect(makeContext({ headers }).request.bearerToken()).toBeNull();
    expect(makeContext().request.bearerToken()).toBeNull();
  });
});

describe("negotiation", () => {
  test("accepts returns the best type, the first one if there is no header, and null if none is acceptable", () => {
    const { request } = makeContext({ headers: { accept: "text/html;q=0.8, application/json" } });
    expect(request.accepts("text/html", "application/json")).toBe("application/json");
    expect(request.accepts("image/png")).toBeNull();
    expect(makeContext().request.accepts("text/html", "application/json")).toBe("text/html");
  });

  test("JSON is wanted because of Accept, a JSON body, or the route, whatever Accept contains", () => {
    const wants = (headers: Record<string, string>, respondsWithJson = false) =>
      makeContext({ headers, route: { respondsWithJson } }).request.wantsJson();
    expect(wants({ accept: "application/json" })).toBe(true);
    expect(wants({ accept: "text/html" })).toBe(false);
    expect(wants({})).toBe(false);
    expect(wants(JSON_BODY)).toBe(true);
    expect(wants({ ...JSON_BODY, accept: "text/html" })).toBe(false);
    expect(wants({ accept: "text/html" }, true)).toBe(true);
    expect(makeContext({ headers: { accept: "application/json" } }).request.wantsJson()).toBe(true);
  });

  test("isJson depends on the type of the body", () => {
    expect(makeContext({ headers: { "content-type": "application/vnd.api+json" } }).request.isJson()).toBe(true);
    expect(makeContext({ headers: FORM }).request.isJson()).toBe(false);
  });
});

describe("the client's address", () => {
  test("is null without IpMiddleware, while throttling uses the socket's", () => {
    const { request } = makeContext({ headers: { "x-forwarded-for": "8.8.8.8" }, ip: "::ffff:10.1.1.1" });
    expect([request.ip(), request.remoteAddress, request.clientAddress]).toEqual([null, "10.1.1.1", "10.1.1.1"]);
  });

  test("is null without a socket", () => {
    const { request } = makeContext();
    expect([request.ip(), request.remoteAddress, request.clientAddress]).toEqual([null, null, null]);
  });

  test.each([
    [{ "client-ip": "172.16.0.2,255.255.255.255", "x-forwarded": "93.16.100.10" }, "192.167.2.1", "93.16.100.10"],
    [{ "x-forwarded-for": "10.0.0.1, 8.8.8.8, 1.1.1.1" }, "10.1.1.1", "8.8.8.8"],
    [{ "x-forwarded-for": "garbage" }, "10.1.1.1", "10.1.1.1"],
  ])("S44 with IpMiddleware %j from %s is %s", (headers: Record<string, string>, ip, expected) => {
    const context = makeContext({ headers, ip });
    new IpMiddleware().handle(context, () => null);
    expect([context.request.ip(), context.request.clientAddress]).toEqual([expected, ip]);
  });

  test("S54 behind a trusted proxy it is the address that the proxy reports, with or without IpMiddleware, and the socket's is kept", () => {
    const headers = { "x-forwarded-for": "6.6.6.6, 8.8.8.8:5678" };
    const { request } = makeContext({ headers, ip: "10.1.1.1", trustedProxies: ["private"] });
    expect([request.ip(), request.remoteAddress, request.clientAddress]).toEqual([null, "10.1.1.1", "8.8.8.8"]);
    const context = makeContext({ headers, ip: "10.1.1.1", trustedProxies: ["private"] });
    new IpMiddleware().handle(context, () => null);
    expect([context.request.ip(), context.request.clientAddress]).toEqual(["8.8.8.8", "8.8.8.8"]);
  });

  test("S54 behind a trusted proxy it is the address that IpMiddleware finds, even if it was read before", () => {
    class BehindCdn extends IpMiddleware {
      static override headers = ["HTTP_CF_CONNECTING_IP", "REMOTE_ADDR"];
    }
    const headers = { "x-forwarded-for": "8.8.8.8", "cf-connecting-ip": "9.9.9.9" };
    const context = makeContext({ headers, ip: "10.1.1.1", trustedProxies: ["private"] });
    expect(context.request.clientAddress).toBe("8.8.8.8");
    new BehindCdn().handle(context, () => null);
    expect([context.request.ip(), context.request.clientAddress]).toEqual(["9.9.9.9", "9.9.9.9"]);
  });
});

test("S14 S44 requests from a real server are read the same way: repeated headers, a garbage host, the socket's address", async () => {
  const server = serve({
    port: 0,
    hostname: "127.0.0.1",
    silent: true,
    fetch: (raw) => {
      const { request } = new HttpContext(raw, makeContext().services, null);
      return Response.json([
        request.bearerToken(),
        request.getHost(),
        request.getPath(),
        request.all(),
        request.header("X_A"),
        request.cookie("a"),
        request.remoteAddress,
      ]);
    },
  });
  await server.ready();
  const { port } = new URL(server.url!);
  const ask = (headers: Record<string, string | string[]>) =>
    new Promise((resolve, reject) => {
      const sent = get({ host: "127.0.0.1", port, path: "/a%20b//c?d=e", headers }, (message) => {
        message.setEncoding("utf8").on("data", (text) => resolve(JSON.parse(text)));
      });
      sent.on("error", reject);
    });
  const rest = ["/a%20b//c", { d: "e" }, "1, 2", "b", "127.0.0.1"];
  const headers = { "x-a": ["1", "2"], cookie: "a=b", host: "work.example.com" };
  expect(await ask({ ...headers, authorization: "Bearer abc" })).toEqual(["abc", "example.com", ...rest]);
  expect(await ask({ ...headers, authorization: ["Bearer abc", "Bearer def"] })).toEqual([
    null,
    "example.com",
    ...rest,
  ]);
  expect(await ask({ ...headers, host: "<script>" })).toEqual([null, "", ...rest]);
  await server.close(true);
});

test("S24 two interleaved requests each see only their own state", async () => {
  const contexts = Array.from({ length: 200 }, (_, index) =>
    makeContext({ url: `http://localhost/${index}`, headers: { cookie: `a=${index}` }, ip: `10.0.0.${index}` }),
  );
  const seen = await Promise.all(
    contexts.map(async ({ request }, index) => {
      request.header("x-view", String(index));
      await new Promise((resolve) => setImmediate(resolve));
      request.cookie("b", String(index));
      await new Promise((resolve) => setImmediate(resolve));
      return [
        request.getPath(),
        request.header("x-view"),
        request.cookie("a"),
        request.cookie("b"),
        request.remoteAddress,
      ];
    }),
  );
  expect(seen).toEqual(
    contexts.map((_, index) => [`/${index}`, `${index}`, `${index}`, `${index}`, `10.0.0.${index}`]),
  );
});
