import { describe, expect, test } from "vitest";
import { z } from "zod";
import { makeContext, makeLoadedContext } from "../../test/support/http-context.ts";
import { ValidationError } from "../support/index.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const JSON_BODY = { "content-type": "application/json" };

describe("inputs of the request", () => {
  test("come from query and body, the body first", async () => {
    const { request } = await makeLoadedContext({
      url: "http://localhost/?a=query&b=2",
      headers: JSON_BODY,
      body: JSON.stringify({
        a: "body",
        n: 1.5,
        i: 3,
        yes: true,
        when: "2026-01-31",
        kind: "x",
        list: [1],
        deep: { c: [{ d: 1 }] },
      }),
    });
    expect(request.input("a")).toBe("body");
    expect([request.input("none"), request.input("none", "fallback")]).toEqual([null, "fallback"]);
    expect(request.input("deep.c.*.d")).toEqual([1]);
    expect([request.query.a, request.body.a]).toEqual(["query", "body"]);
    expect(request.only("a", "b", "none")).toEqual({ a: "body", b: "2" });
    expect(Object.keys(request.except("a", "deep"))).toEqual(["b", "n", "i", "yes", "when", "kind", "list"]);
    expect(request.all()).toMatchObject({ a: "body", b: "2", n: 1.5 });
    expect([
      request.has("a", "b"),
      request.has("a", "x"),
      request.hasAny("x", "a"),
      request.missing("x"),
      request.filled("a"),
    ]).toEqual([true, false, true, true, true]);
    expect([
      request.string("a"),
      request.integer("i"),
      request.float("n"),
      request.boolean("yes"),
      request.array("list"),
    ]).toEqual(["body", 3, 1.5, true, [1]]);
    expect([request.date("when"), request.enum("kind", ["x", "y"])]).toEqual([new Date("2026-01-31"), "x"]);
    expect([request.string("none", "s"), request.integer("none", 1), request.boolean("none")]).toEqual(["s", 1, null]);
    expect(() => request.integer("a")).toThrow(ValidationError);
  });

  test("that are merged in are read back", () => {
    const { request } = makeContext({ url: "http://localhost/?a=1" });
    expect(request.merge({ a: "2", b: "3" })).toBe(request);
    expect(request.all()).toEqual({ a: "2", b: "3" });
  });

  test("of a multipart form have files", async () => {
    const body = new FormData();
    body.append("photo", new File(["bytes"], "a.png", { type: "image/png" }));
    const { request } = await makeLoadedContext({ body });
    expect([request.file("photo")?.size, request.files("photo").length, request.file("x"), request.files("x")]).toEqual(
      [5, 1, null, []],
    );
  });

  test("are only those of the query before the body is read", async () => {
    const { request } = makeContext({ url: "http://localhost/?a=1", headers: FORM, body: "b=2" });
    expect(request.all()).toEqual({ a: "1" });
    await request.loadBody();
    await request.loadBody();
    expect(request.all()).toEqual({ a: "1", b: "2" });
  });

  test("are checked against a schema, all problems at once", async () => {
    const schema = z.object({ name: z.string(), amount: z.coerce.number().int() });
    const good = await makeLoadedContext({ headers: FORM, body: "name=x&amount=2" });
    expect(await good.request.validate(schema)).toEqual({ name: "x", amount: 2 });
    const bad = await makeLoadedContext({ headers: FORM, body: "amount=x" });
    const error = await bad.request.validate(schema).then(
      () => expect.unreachable(),
      (reason: unknown) => reason as ValidationError,
    );
    expect([error.status, Object.keys(error.errors)]).toEqual([422, ["name", "amount"]]);
  });
});
