import { describe, expect, test } from "vitest";
import type { HttpContext } from "../../src/public/index.ts";
import { ask, askOverSocket, respondTo } from "../support/asking-application.ts";

const all = ({ request }: HttpContext) => request.all();

/** A question about inputs by their names. */
function inputs(...names: readonly string[]) {
  return ({ request }: HttpContext) => names.map((name) => request.input(name));
}

function form(fields: string) {
  return new URLSearchParams(fields);
}

describe("Inputs", () => {
  test("query hello=you&goodbye=me", async () => {
    const url = "/?hello=you&goodbye=me";
    expect(await ask(inputs("hello", "goodbye"), { url })).toEqual(["you", "me"]);
    expect(await ask(all, { url })).toEqual({ hello: "you", goodbye: "me" });
    expect(await ask(({ request }) => request.only("hello", "name"), { url })).toEqual({ hello: "you" });
  });

  test("filter[name]=Joe&filter[last]=Bill", async () => {
    const fields = "filter[name]=Joe&filter[last]=Bill";
    const answer = ["Joe", { name: "Joe", last: "Bill" }];
    expect(await ask(inputs("filter.name", "filter"), { url: `/?${fields}` })).toEqual(answer);
    expect(await ask(inputs("filter.name", "filter"), { body: form(fields) })).toEqual(answer);
  });

  test("user[]=user1&user[]=user2", async () => {
    expect(await ask(inputs("user"), { url: "/?user[]=user1&user[]=user2" })).toEqual([["user1", "user2"]]);
  });

  test("user[][name]=J&user[][email]=x", async () => {
    expect(await ask(inputs("user"), { url: "/?user[][name]=J&user[][email]=x" })).toEqual([
      [{ name: "J" }, { email: "x" }],
    ]);
  });

  test("a[x][y][z]=1", async () => {
    expect(await ask(inputs("a.x.y.z"), { url: "/?a[x][y][z]=1" })).toEqual(["1"]);
  });

  test("a=1&a[x]=2, either order: the later one wins", async () => {
    expect(await ask(all, { url: "/?a=1&a[x]=2" })).toEqual({ a: { x: "2" } });
    expect(await ask(all, { url: "/?a[x]=2&a=1" })).toEqual({ a: "1" });
  });

  test('JSON {"key":"val","a":{"b":{"c":1}}}', async () => {
    const body = { key: "val", a: { b: { c: 1 } } };
    expect(await ask(inputs("key", "a.b.c"), { body })).toEqual(["val", 1]);
  });

  test('JSON {"a":{"b":[{"i":1,"c":2},{"i":6,"c":8}]}}', async () => {
    const question = ({ request }: HttpContext) => [
      request.input("a.b.*.i"),
      request.input("a.b.0.c"),
      request.input("a.b.9.c", "d"),
    ];
    const body = {
      a: {
        b: [
          { i: 1, c: 2 },
          { i: 6, c: 8 },
        ],
      },
    };
    expect(await ask(question, { body })).toEqual([[1, 6], 2, "d"]);
  });

  test("JSON list as the body: accessible by index and as *; the query is still available", async () => {
    const answer = await ask(inputs("0", "*", "page"), { url: "/?page=2", body: ["first", { b: 2 }] });
    expect(answer).toEqual(["first", ["first", { b: 2 }], "2"]);
  });

  test("JSON text with Content-Type: text/plain is not parsed as JSON", async () => {
    const headers = { "content-type": "text/plain" };
    expect(await ask(all, { body: '{"key":"val"}', headers })).toEqual({});
  });

  test("multipart key=value, test=1, u[name]=value: complete", async () => {
    const body = new FormData();
    const long = "value\r\n--value ".repeat(10_000);
    for (const [name, value] of Object.entries({ key: "value", test: "1", "u[name]": "value", long })) {
      body.set(name, value);
    }
    expect(await ask(inputs("key", "test", "u.name", "long"), { body })).toEqual(["value", "1", "value", long]);
  });

  test('value [{"foo":"x"}] stays a list of one', async () => {
    expect(await ask(inputs("value"), { body: { value: [{ foo: "x" }] } })).toEqual([[{ foo: "x" }]]);
    expect(await ask(inputs("value"), { url: "/?value[][foo]=x" })).toEqual([[{ foo: "x" }]]);
    // Text in a form stays text.
    expect(await ask(inputs("value"), { body: form('value=[{"foo":"x"}]') })).toEqual(['[{"foo":"x"}]']);
  });

  test("3.1415926 in JSON is the same number", async () => {
    const headers = { "content-type": "application/json" };
    expect(await ask(inputs("pi"), { body: '{"pi":3.1415926}', headers })).toEqual([Number("3.1415926")]);
  });

  test.each(["GET", "POST", "PUT", "PATCH", "DELETE"])("%s with query and body: input() finds both", async (method) => {
    const body = "inBody=2";
    const headers = {
      "content-type": "application/x-www-form-urlencoded",
      "content-length": String(Buffer.byteLength(body)),
    };
    const answer = await askOverSocket(inputs("inQuery", "inBody"), { method, url: "/?inQuery=1", headers, body });
    expect(answer).toEqual(["1", "2"]);
  });

  test("__token=tok&hello=you: all() leaves out the token, input() has it", async () => {
    const question = ({ request }: HttpContext) => [request.all(), request.input("__token")];
    expect(await ask(question, { body: form("__token=tok&hello=you") })).toEqual([{ hello: "you" }, "tok"]);
  });
});

describe("input(name) absent", () => {
  test("null, or the given default", async () => {
    const question = ({ request }: HttpContext) => [request.input("name"), request.input("name", "Joe")];
    expect(await ask(question)).toEqual([null, "Joe"]);
  });

  test("a list stays a list", async () => {
    expect(await ask(inputs("a"), { url: "/?a[]=1" })).toEqual([["1"]]);
    expect(await ask(inputs("a"), { body: { a: [1] } })).toEqual([[1]]);
  });

  test('blank values are kept as ""', async () => {
    const question = ({ request }: HttpContext) => [request.input("a", "x"), request.input("b", "x"), request.all()];
    expect(await ask(question, { url: "/?a=&b" })).toEqual(["", "", { a: "", b: "" }]);
  });

  test("a=1&a=2 returns the last value, a[]=1 and a[]=1&a[]=2 a list under a", async () => {
    expect(await ask(all, { url: "/?a=1&a=2" })).toEqual({ a: "2" });
    expect(await ask(all, { url: "/?a[]=1" })).toEqual({ a: ["1"] });
    expect(await ask(all, { url: "/?a[]=1&a[]=2" })).toEqual({ a: ["1", "2"] });
  });

  test("brackets nest to any of 5 levels, and no deeper", async () => {
    expect(await ask(inputs("a.b.c.d.e.f"), { url: "/?a[b][c][d][e][f]=1" })).toEqual(["1"]);
    const response = await respondTo(all, { url: "/?a[b][c][d][e][f][g]=1" });
    expect(response.status).toBe(400);
  });

  test("body wins over query on the same name", async () => {
    const question = ({ request }: HttpContext) => [request.input("a"), request.query, request.body];
    expect(await ask(question, { url: "/?a=query&b=2", body: { a: "body" } })).toEqual([
      "body",
      { a: "query", b: "2" },
      { a: "body" },
    ]);
  });

  test("names beginning with __ are left out of all()", async () => {
    expect(await ask(all, { url: "/?__method=PUT&__token=1&__x[a]=1&_one=1&a=1" })).toEqual({ _one: "1", a: "1" });
  });
});

describe("Dot notation and *", () => {
  const body = { a: { b: [{ c: 1 }, { c: 2 }] }, prices: { tea: { net: 3 }, cake: { net: 5 } } };

  test("a.b.c, list indexes (a.0.b), * over lists and over the values of objects", async () => {
    const answer = await ask(inputs("prices.tea.net", "a.b.1.c", "a.b.*.c", "prices.*.net"), { body });
    expect(answer).toEqual([3, 2, [1, 2], [3, 5]]);
  });

  test.each(["a.x", "a.b.x", "a.b.0.c.d", "a.b.-1", "x.y.z", "*.x.y", "a.b.*.x", ".", "..", "a.", ".a", ""])(
    "the path %j does not exist: returns the default, never throws",
    async (path) => {
      expect(await ask(({ request }) => request.input(path, "default"), { body })).toBe("default");
    },
  );

  test("only() understands dots", async () => {
    expect(await ask(({ request }) => request.only("a.b.0.c", "a.b.9.c"), { body })).toEqual({ "a.b.0.c": 1 });
  });

  test.each([
    ["a query", { url: "/?__proto__[admin]=1&constructor[prototype][admin]=1&a[__proto__][admin]=1&a[x]=1" }],
    ["a form", { body: form("__proto__[admin]=1&constructor=1&prototype[]=1&a[constructor]=1&a[x]=1") }],
    ["JSON", { body: '{"__proto__":{"admin":1},"constructor":1,"a":{"__proto__":{"admin":1},"x":"1"}}' }],
  ])("S43 __proto__, constructor, prototype are never followed nor stored: %s", async (_, asked) => {
    const question = ({ request }: HttpContext) => [
      request.all(),
      ["a.__proto__", "a.constructor", "a.admin", "constructor.name", "__proto__.toString"].map((path) =>
        request.input(path, "default"),
      ),
      Object.getPrototypeOf(request.all()),
      Reflect.get({}, "admin") ?? null,
    ];
    const json = "url" in asked ? {} : { headers: headersFor(asked.body) };
    expect(await ask(question, { ...asked, ...json })).toEqual([
      { a: { x: "1" } },
      Array.from({ length: 5 }, () => "default"),
      null,
      null,
    ]);
  });
});

/** The headers for JSON that is sent as raw text. */
function headersFor(body: unknown): Record<string, string> {
  return typeof body === "string" ? { "content-type": "application/json" } : {};
}
