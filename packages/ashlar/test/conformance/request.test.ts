import { describe, expect, test } from "vitest";
import { type HttpContext, IpMiddleware, Route } from "../../src/public/index.ts";
import { ADA, testApi } from "../support/api-application.ts";
import { ask, askingApplication, askOverSocket, respondTo } from "../support/asking-application.ts";

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const PUBLIC = "93.16.100.10";

describe("Request object operations", () => {
  test("cookie(name): reads an incoming cookie", async () => {
    const question = ({ request }: HttpContext) => [request.cookie("theme"), request.cookie("other")];
    expect(await ask(question, { headers: { cookie: "theme=dark%20blue; lang=en" } })).toEqual(["dark blue", null]);
  });

  test("S45 cookie(name, value): sets a cookie on the request only; not sent, does not persist", async () => {
    const question = ({ request }: HttpContext) => {
      const before = request.cookie("theme");
      request.cookie("theme", "dark");
      return [before, request.cookie("theme")];
    };
    const application = await askingApplication(question);
    for (const _ of ["first", "second"]) {
      const response = await application.fetch(new Request("http://localhost/"));
      expect([response.headers.getSetCookie(), await response.json()]).toEqual([[], { answer: [null, "dark"] }]);
    }
  });

  test("header(name): reads a request header", async () => {
    const question = ({ request }: HttpContext) => [request.header("X-Colour"), request.header("X-Other")];
    expect(await ask(question, { headers: { "x-colour": "blue" } })).toEqual(["blue", null]);
  });

  test("S45 header(name, value): sets a header on the request only; not part of the response", async () => {
    const question = ({ request }: HttpContext) => {
      const before = request.header("X-Colour");
      request.header("X-Colour", "blue");
      return [before, request.header("x-colour")];
    };
    const application = await askingApplication(question);
    for (const _ of ["first", "second"]) {
      const response = await application.fetch(new Request("http://localhost/"));
      expect([response.headers.get("x-colour"), await response.json()]).toEqual([null, { answer: [null, "blue"] }]);
    }
  });

  test("getPath(): current request URI path", async () => {
    const path = ({ request }: HttpContext) => request.getPath();
    expect(await ask(path, { url: "/users/1?page=2#top" })).toBe("/users/1");
    expect(await ask(path)).toBe("/");
  });

  test.each(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])(
    "getRequestMethod(): current HTTP method, %s",
    async (method) => {
      expect(await ask(({ request }) => request.getRequestMethod(), { method })).toBe(method);
    },
  );

  test("contains(glob): true when the path matches a glob-style pattern where * matches a segment", async () => {
    const question = ({ request }: HttpContext) => [request.contains("/users/*/posts"), request.contains("/users")];
    expect(await ask(question, { url: "/users/1/posts?page=2" })).toEqual([true, false]);
  });

  test("getSubdomain(): subdomain part of the host", async () => {
    const subdomain = ({ request }: HttpContext) => request.getSubdomain();
    expect(await ask(subdomain, { url: "http://work.example.com/" })).toBe("work");
    expect(await ask(subdomain, { url: "http://example.com/" })).toBeNull();
  });

  test("getHost(): host without the subdomain", async () => {
    const host = ({ request }: HttpContext) => request.getHost();
    expect(await ask(host, { url: "http://work.example.com/" })).toBe("example.com");
    expect(await ask(host, { url: "http://example.com/" })).toBe("example.com");
  });

  test.each(["GET", "DELETE", "PUT", "PATCH", "POST"])(
    "input(name): input value, for any HTTP method (query or body), %s",
    async (method) => {
      const input = ({ request }: HttpContext) => request.input("name");
      expect(await ask(input, { method, url: "/?name=Joe" })).toBe("Joe");
      if (method !== "GET") expect(await ask(input, { method, body: { name: "Joe" } })).toBe("Joe");
    },
  );

  test("input(name, default): the default when the input is absent", async () => {
    const question = ({ request }: HttpContext) => [request.input("name", "Joe"), request.input("age", 7)];
    expect(await ask(question, { url: "/?age=8" })).toEqual(["Joe", "8"]);
  });

  test("all(): all inputs as a dictionary", async () => {
    const question = ({ request }: HttpContext) => {
      const inputs = request.all();
      return [inputs, Object.getPrototypeOf(inputs)];
    };
    expect(await ask(question, { url: "/?a=1", body: { b: [2], c: null } })).toEqual([
      { a: "1", b: [2], c: null },
      null,
    ]);
  });

  test("only(name, ...): dictionary of just the named inputs", async () => {
    const question = ({ request }: HttpContext) => {
      const inputs = request.only("a", "c", "absent");
      return [inputs, Object.getPrototypeOf(inputs)];
    };
    expect(await ask(question, { url: "/?a=1&b=2&c=3" })).toEqual([{ a: "1", c: "3" }, null]);
  });

  test("param(name): value of a route parameter (@name) captured from the URL", async () => {
    const question = ({ request }: HttpContext) => ["id", "title", "other"].map((name) => request.param(name));
    const asked = { route: "/posts/@id/@title", url: "/posts/7/caf%C3%A9%20%26%20bar?id=8&other=9" };
    expect(await ask(question, asked)).toEqual(["7", "café & bar", null]);
  });

  test("user(): the logged-in user, or None", async () => {
    const web = [Route.get("/who", ({ request }) => request.user()).middleware("guard:jwt")];
    const api = await testApi({ routes: web });
    expect(await ask(({ request }) => request.user())).toBeNull();
    expect(await api.get("/api/who", { token: await api.token() })).toMatchObject({ status: 200, body: ADA });
  });

  test("S37 user(): headers, cookies and inputs that name another user are ignored", async () => {
    const api = await testApi();
    const sent = { token: await api.token(), headers: { "x-user-id": "2", cookie: "user_id=2; user=2" } };
    expect(await api.get("/api/me?user_id=2&user=2&id=2&sub=2", sent)).toMatchObject({ status: 200, body: ADA });
  });

  test("ip(): client IPv4 address; requires IpMiddleware in the kernel's httpMiddleware list", async () => {
    const ip = ({ request }: HttpContext) => request.ip();
    expect(await ask(ip, { ip: PUBLIC })).toBeNull();
    expect(await ask(ip, { ip: PUBLIC, httpMiddleware: [IpMiddleware] })).toBe(PUBLIC);
    expect(await ask(ip, { ip: `::ffff:${PUBLIC}`, httpMiddleware: [IpMiddleware] })).toBe(PUBLIC);
    expect(await askOverSocket(ip, { httpMiddleware: [IpMiddleware] })).toBe("127.0.0.1");
  });

  test("nested dictionary inputs are read with normal key access or with dot notation", async () => {
    const question = ({ request }: HttpContext) => {
      const user = request.input("user") as { readonly address: { readonly city: string } };
      return [user.address.city, request.input("user.address.city")];
    };
    expect(await ask(question, { body: { user: { address: { city: "Ulm" } } } })).toEqual(["Ulm", "Ulm"]);
  });

  test("a * wildcard in dot notation returns all values from a list of dictionaries", async () => {
    const body = { user: { addresses: [{ id: 1 }, { id: 2 }] } };
    expect(await ask(({ request }) => request.input("user.addresses.*.id"), { body })).toEqual([1, 2]);
  });

  test("setting headers and cookies for the response is done on the response object", async () => {
    const response = await respondTo(({ request, response }) => {
      response.header("X-Colour", "blue").cookie("theme", "dark");
      return [request.header("X-Colour"), request.cookie("theme")];
    });
    expect(await response.json()).toEqual({ answer: [null, null] });
    expect(response.headers.get("x-colour")).toBe("blue");
    expect(response.headers.getSetCookie()).toEqual(["theme=dark; Path=/; HttpOnly; SameSite=Lax"]);
  });
});

describe("Request", () => {
  const contains = (path: string, glob: string) => ask(({ request }) => request.contains(glob), { url: path });

  test.each([
    ["/test", "/test"],
    ["/test/user", "/test/*"],
    ["/test/admin/user", "/test/*/user"],
    ["/", "*"],
    ["/any/thing/at/all", "*"],
    ["/dashboard/1/users", "/dashboard/*/users"],
    ["/test/a/b/c", "/test/*"],
    ["/test/user", "test/*"],
  ])("path %s, contains(%j): true", async (path, glob) => {
    expect(await contains(path, glob)).toBe(true);
  });

  test.each([
    ["/testing", "/test"],
    ["/a/b/c", "/a/*/d"],
    ["/a/test", "/test"],
    ["/test", "/test/*"],
    ["/test/a/b/user", "/test/*/user"],
  ])("path %s, contains(%j): false", async (path, glob) => {
    expect(await contains(path, glob)).toBe(false);
  });

  test.each([
    ["work.example.com:8080", "work", "example.com"],
    ["www.example.com", "www", "example.com"],
    ["a.b.co.uk", "a", "b.co.uk"],
    ["deep.down.example.com", "deep.down", "example.com"],
    ["127.0.0.1:3000", null, "127.0.0.1"],
    ["[::1]:3000", null, "[::1]"],
    ["localhost:3000", null, "localhost"],
    ["intranet", null, "intranet"],
  ])("host %s: subdomain %s, host %s", async (authority, subdomain, host) => {
    const question = ({ request }: HttpContext) => [request.getSubdomain(), request.getHost()];
    expect(await ask(question, { url: `http://${authority}/` })).toEqual([subdomain, host]);
    expect(await askOverSocket(question, { headers: { host: authority } })).toEqual([subdomain, host]);
  });

  test("__method=PATCH in the body of a POST is PATCH, in its query POST, and on a GET it is GET", async () => {
    const method = ({ request }: HttpContext) => request.getRequestMethod();
    const fields = "__method=PATCH";
    const headers = {
      "content-type": "application/x-www-form-urlencoded",
      "content-length": String(Buffer.byteLength(fields)),
    };
    expect(await ask(method, { body: new URLSearchParams(fields) })).toBe("PATCH");
    expect(await ask(method, { method: "POST", url: `/?${fields}` })).toBe("POST");
    expect(await ask(method, { url: `/?${fields}` })).toBe("GET");
    expect(await askOverSocket(method, { headers, body: fields })).toBe("GET");
  });

  test.each([
    ["PUT", "PUT"],
    ["delete", "DELETE"],
    ["GET", "POST"],
    ["OPTIONS", "POST"],
    ["LINK", "POST"],
  ])("POST with body __method=%s is %s: only PUT, PATCH and DELETE count", async (wanted, method) => {
    const question = ({ request }: HttpContext) => request.getRequestMethod();
    expect(await ask(question, { body: new URLSearchParams({ __method: wanted }) })).toBe(method);
  });

  test('header("content_type"), header("Content-Type"), header("CONTENT-TYPE"): the same value', async () => {
    const question = ({ request }: HttpContext) =>
      ["content_type", "Content-Type", "CONTENT-TYPE"].map((name) => request.header(name));
    const type = "application/json; charset=utf-8";
    const headers = { "content-type": type };
    expect(await ask(question, { body: "{}", headers })).toEqual([type, type, type]);
  });
});

describe("other request operations", () => {
  test("bearerToken, has, hasAny, missing, filled, except, merge", async () => {
    const question = ({ request }: HttpContext) => [
      request.bearerToken(),
      [request.has("a", "b"), request.has("a", "c"), request.hasAny("a", "c"), request.hasAny("c")],
      [request.missing("a"), request.missing("c"), request.filled("a"), request.filled("b")],
      [request.except("a"), request.merge({ c: 3 }).all()],
    ];
    expect(await ask(question, { url: "/?a=1&b=", headers: { authorization: "bearer abc" } })).toEqual([
      "abc",
      [true, false, true, false],
      [false, true, true, false],
      [{ b: "" }, { a: "1", b: "", c: 3 }],
    ]);
  });

  test("typed readers: the type, or the fallback if absent", async () => {
    const question = ({ request }: HttpContext) => [
      [request.string("name"), request.integer("age"), request.float("height"), request.boolean("member")],
      [request.date("born")?.toISOString(), request.enum("size", ["s", "m"]), request.array("tags")],
      [request.string("x"), request.integer("x", 7), request.boolean("x", false), request.array("x", [])],
    ];
    const url = "/?name=Joe&age=7&height=1.5&member=on&born=2000-02-29&size=m&tags[]=a";
    expect(await ask(question, { url })).toEqual([
      ["Joe", 7, 1.5, true],
      ["2000-02-29T00:00:00.000Z", "m", ["a"]],
      [null, 7, false, []],
    ]);
  });

  test.each<[string, (context: HttpContext) => unknown]>([
    ["string", ({ request }) => request.string("list")],
    ["integer", ({ request }) => request.integer("text")],
    ["float", ({ request }) => request.float("text")],
    ["boolean", ({ request }) => request.boolean("text")],
    ["date", ({ request }) => request.date("text")],
    ["enum", ({ request }) => request.enum("text", ["s", "m"])],
    ["array", ({ request }) => request.array("text")],
  ])("S36 %s throws a 422, with the field, if the input has another type", async (_, question) => {
    const headers = { accept: "application/json" };
    const response = await respondTo(question, { body: { text: "none of these", list: ["a"] }, headers });
    expect([response.status, await response.json()]).toEqual([
      422,
      expect.objectContaining({ code: "E_INVALID_INPUT", errors: expect.any(Object) }),
    ]);
  });

  test("url, fullUrl, isSecure, userAgent, isJson, wantsJson, accepts, route, id, raw", async () => {
    const question = ({ request }: HttpContext) => [
      [request.url(), request.fullUrl(), request.isSecure()],
      [request.userAgent(), request.isJson(), request.wantsJson(), request.accepts("text/html", "application/json")],
      [request.route()?.pattern, [...new Set([request.id, request.id])], request.raw instanceof Request],
    ];
    const url = "https://shop.example/orders?page=2";
    const headers = { accept: "application/json", "user-agent": "curl/8" };
    expect(await ask(question, { url, headers, body: {}, route: "/orders" })).toEqual([
      ["https://shop.example/orders", "https://shop.example/orders?page=2", true],
      ["curl/8", true, true, "application/json"],
      ["/orders", [expect.stringMatching(UUID)], true],
    ]);
  });

  test("file and files for multipart", async () => {
    const body = new FormData();
    body.set("one", new File(["first"], "one.txt", { type: "text/plain" }));
    for (const name of ["a.txt", "b.txt"]) body.append("many[]", new File([name], name));
    const question = async ({ request }: HttpContext) => [
      [request.file("one")?.name, request.file("one")?.size, request.file("two")],
      request.files("many").map(({ name }) => name),
      request.all(),
    ];
    expect(await ask(question, { body })).toEqual([["one.txt", 5, null], ["a.txt", "b.txt"], {}]);
  });
});
