import { FastResponse } from "srvx";
import { describe, expect, test } from "vitest";
import { makeContext } from "../../../test/support/http-context.ts";
import { AshlarError } from "../../support/index.ts";
import type { HttpContext } from "./context.ts";
import { toResponse } from "./respond.ts";

const NOSNIFF = ["x-content-type-options", "nosniff"];
const HTML = ["content-type", "text/html; charset=utf-8"];
const JSON_TYPE = ["content-type", "application/json; charset=utf-8"];

/** The complete response to a result, in a form that can be compared. */
async function answer(result: unknown, start: (context: HttpContext) => unknown = () => null) {
  const context = makeContext();
  start(context);
  const response = toResponse(context, result);
  return { status: response.status, headers: [...response.headers], body: await response.text() };
}

test("a Content-Length set for another body does not apply to a returned Response", async () => {
  const { headers, body } = await answer(new Response("a longer body"), ({ response }) => {
    response.header("Content-Length", "1").header("Transfer-Encoding", "chunked").header("X-A", "1");
  });
  expect(headers.map(([name]) => name)).toEqual(["content-type", "x-a"]);
  expect(body).toBe("a longer body");
});

describe("a handler's result, with no response started", () => {
  test("a string is sent as a page", async () => {
    expect(await answer("<p>é</p>")).toEqual({ status: 200, headers: [HTML, NOSNIFF], body: "<p>é</p>" });
    expect(await answer("")).toEqual({ status: 200, headers: [HTML, NOSNIFF], body: "" });
  });

  test.each([
    [{ a: 1 }, '{"a":1}'],
    [[1, "x"], '[1,"x"]'],
    [null, "null"],
    [1.5, "1.5"],
    [false, "false"],
    [Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ])("%j is JSON", async (result, body) => {
    expect(await answer(result)).toEqual({ status: 200, headers: [JSON_TYPE, NOSNIFF], body });
  });

  test("a model is sent as its toJSON()", async () => {
    class User {
      name = "Ada";
      password = "secret";
      toJSON() {
        return { name: this.name };
      }
    }
    expect(await answer(new User())).toEqual({ status: 200, headers: [JSON_TYPE, NOSNIFF], body: '{"name":"Ada"}' });
    expect((await answer([new User()])).body).toBe('[{"name":"Ada"}]');
  });

  test("undefined is 204", async () => {
    expect(await answer(undefined)).toEqual({ status: 204, headers: [NOSNIFF], body: "" });
  });

  test("a Response is sent unchanged", () => {
    for (const response of [
      new Response("x"),
      Response.json({}),
      Response.redirect("http://a/"),
      new FastResponse("x"),
    ]) {
      expect(toResponse(makeContext(), response)).toBe(response);
    }
  });

  test("one response does not affect the next", async () => {
    const first = toResponse(makeContext(), {});
    first.headers.set("x-a", "1");
    first.headers.set("content-type", "text/plain");
    expect(await answer({})).toEqual({ status: 200, headers: [JSON_TYPE, NOSNIFF], body: "{}" });
    toResponse(makeContext(), "").headers.set("x-a", "1");
    expect((await answer("")).headers).toEqual([HTML, NOSNIFF]);
  });
});

describe("a handler's result, with a response started", () => {
  const start = ({ response }: HttpContext) =>
    response.status(201).header("X-A", "1").cookie("a", "1").cookie("b", "2");
  const COOKIES = [
    ["set-cookie", "a=1; Path=/; HttpOnly; SameSite=Lax"],
    ["set-cookie", "b=2; Path=/; HttpOnly; SameSite=Lax"],
  ];

  test("a string or an object gets its status, headers and cookies", async () => {
    expect(await answer("x", start)).toEqual({
      status: 201,
      headers: [HTML, ...COOKIES, ["x-a", "1"], NOSNIFF].sort(byName),
      body: "x",
    });
    expect(await answer({}, start)).toEqual({
      status: 201,
      headers: [JSON_TYPE, ...COOKIES, ["x-a", "1"], NOSNIFF].sort(byName),
      body: "{}",
    });
  });

  test("the returned value replaces its content and type", async () => {
    expect(await answer("x", ({ response }) => response.download(new Uint8Array(9), "a.bin"))).toEqual({
      status: 200,
      headers: [HTML, NOSNIFF],
      body: "x",
    });
  });

  test("a type set by hand is kept", async () => {
    const { headers } = await answer("a,b", ({ response }) => response.header("Content-Type", "text/csv"));
    expect(headers).toEqual([["content-type", "text/csv"], NOSNIFF]);
  });

  test("undefined and the response itself send the response", async () => {
    const context = makeContext();
    const response = context.response.status(404).json({ a: 1 });
    const expected = { status: 404, headers: [JSON_TYPE, NOSNIFF], body: '{"a":1}' };
    expect(await answer(undefined, ({ response }) => response.status(404).json({ a: 1 }))).toEqual(expected);
    const built = toResponse(context, response);
    expect({ status: built.status, headers: [...built.headers], body: await built.text() }).toEqual(expected);
  });

  test("a response with only a header is still 204 if nothing is returned", async () => {
    expect(await answer(undefined, ({ response }) => response.header("x-a", "1"))).toEqual({
      status: 204,
      headers: [["x-a", "1"], NOSNIFF].sort(byName),
      body: "",
    });
  });

  test("an object with status 204 has no content", async () => {
    expect(await answer({}, ({ response }) => response.status(204))).toEqual({
      status: 204,
      headers: [NOSNIFF],
      body: "",
    });
  });

  test("a Response keeps its status and headers, gets the headers that it lacks, and all cookies stay separate", async () => {
    const given = new Response("x", {
      status: 202,
      headers: [
        ["x-a", "own"],
        ["set-cookie", "c=3"],
        ["content-type", "text/csv"],
      ],
    });
    expect(await answer(given, (context) => start(context).header("X-B", "2"))).toEqual({
      status: 202,
      headers: [["content-type", "text/csv"], ["set-cookie", "c=3"], ...COOKIES, ["x-a", "own"], ["x-b", "2"]],
      body: "x",
    });
  });

  test("a Set-Cookie header set by hand is added too", async () => {
    const { headers } = await answer(new Response("", { headers: { "set-cookie": "c=3" } }), ({ response }) =>
      response.appendHeader("Set-Cookie", "d=4"),
    );
    expect(headers.filter(([name]) => name === "set-cookie")).toEqual([
      ["set-cookie", "c=3"],
      ["set-cookie", "d=4"],
    ]);
  });

  test.each([
    ["the platform's", new Response("x")],
    ["srvx's", new FastResponse(null, { status: 204 })],
  ])("a Response that is kept and returned to several visitors doesn't collect their cookies: %s", async (_, kept) => {
    const cookies = [];
    for (const visitor of ["1", "2"]) {
      const context = makeContext();
      context.response.cookie("visitor", visitor);
      cookies.push(
        toResponse(context, kept)
          .headers.getSetCookie()
          .map((line) => line.split(";")[0]),
      );
    }
    expect([cookies, kept.headers.getSetCookie()]).toEqual([[["visitor=1"], ["visitor=2"]], []]);
  });

  test("an immutable Response is copied and left unchanged", async () => {
    const given = Response.redirect("http://localhost/a", 303);
    const result = await answer(given, start);
    expect(result).toEqual({
      status: 303,
      headers: [["location", "http://localhost/a"], ...COOKIES, ["x-a", "1"]],
      body: "",
    });
    expect([...given.headers]).toEqual([["location", "http://localhost/a"]]);
  });

  test("a Response of the server is merged like any other", async () => {
    const given = new FastResponse("x", { status: 203, headers: [["content-type", "text/csv"]] });
    expect(await answer(given, ({ response }) => response.cookie("a", "1"))).toEqual({
      status: 203,
      headers: [["content-type", "text/csv"], COOKIES[0]],
      body: "x",
    });
  });

  test("a Response without content stays without content", async () => {
    expect(await answer(new Response(null, { status: 304 }), ({ response }) => response.header("x-a", "1"))).toEqual({
      status: 304,
      headers: [["x-a", "1"]],
      body: "",
    });
  });

  test("a stream in a Response is passed on, not buffered", async () => {
    let pulled = 0;
    const body = new ReadableStream(
      { pull: (controller) => (pulled++ < 3 ? controller.enqueue(new Uint8Array([65])) : controller.close()) },
      { highWaterMark: 0 },
    );
    const context = makeContext();
    context.response.header("x-a", "1");
    const response = toResponse(context, new Response(body));
    expect(pulled).toBe(0);
    expect(await response.text()).toBe("AAA");
  });
});

describe("a result that cannot be sent", () => {
  const route = { name: "orders.show", pattern: "/orders/@id", methods: ["GET", "HEAD"] };

  /** The error for a result, with and without a started response. */
  function refusal(result: unknown): string[] {
    return [false, true].map((started) => {
      const context = makeContext({ route });
      if (started) context.response.header("x-a", "1");
      try {
        toResponse(context, result);
      } catch (error) {
        return error instanceof AshlarError ? `${error.code} ${error.message}` : String(error);
      }
      return "answered";
    });
  }

  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const used = new Response("x");

  test.each([
    ["circular", circular, "cannot be written as JSON: Converting circular structure to JSON"],
    ["BigInt", { a: 1n }, "cannot be written as JSON: Do not know how to serialize a BigInt"],
    ["function", () => null, "is a function, which JSON cannot represent."],
    ["symbol", Symbol("x"), "is a symbol, which JSON cannot represent."],
    [
      "toJSON of undefined",
      new (class Odd {
        toJSON() {}
      })(),
      "is an object of Odd whose toJSON returns nothing, which JSON cannot represent.",
    ],
    ["bytes", new Uint8Array(1), "is raw bytes or a stream: return response.stream(…) or response.download(…)."],
    ["buffer", new ArrayBuffer(1), "is raw bytes or a stream: return response.stream(…) or response.download(…)."],
    ["blob", new Blob(["x"]), "is raw bytes or a stream: return response.stream(…) or response.download(…)."],
    ["stream", new ReadableStream(), "is raw bytes or a stream: return response.stream(…) or response.download(…)."],
    ["map", new Map([[1, 2]]), "is a Map or a Set, which JSON cannot represent: return an object or a list."],
    ["set", new Set([1]), "is a Map or a Set, which JSON cannot represent: return an object or a list."],
    ["error of fetch", Response.error(), "is an error of fetch, with no status."],
  ])("%s is refused with the route's name", (_, result, problem) => {
    const start = `E_UNSERIALIZABLE_RESULT The response of the route GET|HEAD /orders/@id ("orders.show") ${problem}`;
    for (const message of refusal(result)) expect(message.startsWith(start)).toBe(true);
  });

  test("a Response that was already read is refused", async () => {
    await used.text();
    expect(refusal(used)[0]).toContain("is a Response that was already sent or read: create a new one each time.");
  });

  test("an error of the framework in a toJSON is rethrown, any other becomes the cause", () => {
    const failing = (error: Error) => ({
      toJSON: () => {
        throw error;
      },
    });
    const own = new AshlarError("E_FORBIDDEN");
    expect(() => toResponse(makeContext(), failing(own))).toThrow(own);
    const other = new Error("inside");
    expect(() => toResponse(makeContext(), failing(other))).toThrow(
      expect.objectContaining({ code: "E_UNSERIALIZABLE_RESULT", cause: other }),
    );
  });

  test("the message names no route if there isn't one", () => {
    expect(() => toResponse(makeContext(), Symbol())).toThrow("The response is a symbol, which JSON cannot represent.");
  });
});

/** Sorts headers by name. */
function byName(a: (string | undefined)[], b: (string | undefined)[]): number {
  return a[0]! < b[0]! ? -1 : a[0]! > b[0]! ? 1 : 0;
}
