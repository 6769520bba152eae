import fc from "fast-check";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { sentencesIn } from "../../../test/support/field-errors.ts";
import { readBody } from "../../../test/support/held-body.ts";
import { makeContext, makeLoadedContext } from "../../../test/support/http-context.ts";
import { AshlarError, type Dictionary, ValidationError } from "../../support/index.ts";
import { type BodyLimits, DEFAULT_BODY_LIMITS, NO_BODY, type RequestBody } from "../bodies/body.ts";
import { UploadedFile } from "../bodies/uploaded-file.ts";
import { type InputSource, RequestInputs } from "./request-inputs.ts";

type Payload = NonNullable<RequestInit["body"]>;
type Sent = { query?: string; method?: string; limits?: Partial<BodyLimits> };

class Inputs extends RequestInputs {
  protected override readonly inputSource: InputSource;

  constructor(search: string, body: RequestBody, limits: BodyLimits) {
    super();
    this.inputSource = { search, body, limits, look: null };
  }
}

/** The inputs of a request that was built with the platform's `Request`. */
async function inputsOf(
  body: Payload | null,
  type: string | null,
  { query = "", method = "POST", limits = {} }: Sent = {},
) {
  const raw = new Request(`http://localhost/${query}`, {
    method,
    body,
    headers: type === null ? {} : { "content-type": type },
  });
  const all = { ...DEFAULT_BODY_LIMITS, ...limits };
  return new Inputs(new URL(raw.url).search, await readBody(raw, all), all);
}

const query = (search: string) => new Inputs(search, NO_BODY, DEFAULT_BODY_LIMITS);
const json = (value: unknown, sent: Sent = {}) =>
  inputsOf(typeof value === "string" ? value : JSON.stringify(value), "application/json", sent);
const form = (body: string, sent: Sent = {}) => inputsOf(body, "application/x-www-form-urlencoded", sent);

function multipart(...entries: readonly (readonly [name: string, value: string | File])[]): Promise<Inputs> {
  const data = new FormData();
  for (const [name, value] of entries) data.append(name, value);
  return inputsOf(data, null);
}

describe("a request's inputs", () => {
  test("query hello=you&goodbye=me", () => {
    const inputs = query("?hello=you&goodbye=me");
    expect([inputs.input("hello"), inputs.input("goodbye")]).toEqual(["you", "me"]);
    expect(inputs.all()).toEqual({ hello: "you", goodbye: "me" });
    expect(inputs.only("hello", "name")).toEqual({ hello: "you" });
  });

  test("filter[name]=Joe&filter[last]=Bill", () => {
    const inputs = query("?filter[name]=Joe&filter[last]=Bill");
    expect(inputs.input("filter.name")).toBe("Joe");
    expect(inputs.input("filter")).toEqual({ name: "Joe", last: "Bill" });
  });

  test("user[]=user1&user[]=user2", () => {
    expect(query("?user[]=user1&user[]=user2").input("user")).toEqual(["user1", "user2"]);
  });

  test("user[][name]=J&user[][email]=x", async () => {
    expect((await form("user[][name]=J&user[][email]=x")).input("user")).toEqual([{ name: "J" }, { email: "x" }]);
  });

  test("a[x][y][z]=1", () => {
    expect(query("a[x][y][z]=1").input("a.x.y.z")).toBe("1");
  });

  test("a=1&a[x]=2, in either order", () => {
    expect([query("?a=1&a[x]=2").all(), query("?a[x]=2&a=1").all()]).toEqual([{ a: { x: "2" } }, { a: "1" }]);
  });

  test("JSON with text and a nested number", async () => {
    const inputs = await json('{"key":"val","a":{"b":{"c":1}}}');
    expect([inputs.input("key"), inputs.input("a.b.c")]).toEqual(["val", 1]);
  });

  test("JSON with a list of objects", async () => {
    const inputs = await json('{"a":{"b":[{"i":1,"c":2},{"i":6,"c":8}]}}');
    expect([inputs.input("a.b.*.i"), inputs.input("a.b.0.c"), inputs.input("a.b.9.c", "d")]).toEqual([[1, 6], 2, "d"]);
  });

  test("a JSON list as the body, with the query still available", async () => {
    const inputs = await json([{ id: 1 }, "x"], { query: "?page=2" });
    expect([inputs.input("0"), inputs.input("0.id"), inputs.input("1"), inputs.input("2", "none")]).toEqual([
      { id: 1 },
      1,
      "x",
      "none",
    ]);
    expect([inputs.input("*"), inputs.input("*.id"), inputs.input("page")]).toEqual([[{ id: 1 }, "x"], [1], "2"]);
    expect(inputs.all()).toEqual({ 0: { id: 1 }, 1: "x", page: "2" });
    expect([inputs.body, inputs.query]).toEqual([{ 0: { id: 1 }, 1: "x" }, { page: "2" }]);
  });

  test("JSON text with Content-Type: text/plain is not parsed", async () => {
    const inputs = await inputsOf('{"a":1}', "text/plain", { query: "?b=2" });
    expect([inputs.input("a"), inputs.all()]).toEqual([null, { b: "2" }]);
  });

  test("multipart key=value, test=1, u[name]=value", async () => {
    const inputs = await multipart(["key", "value"], ["test", "1"], ["u[name]", "value"]);
    expect([inputs.input("key"), inputs.input("test"), inputs.input("u.name"), inputs.input("u")]).toEqual([
      "value",
      "1",
      "value",
      { name: "value" },
    ]);
  });

  test("a value [{foo: x}] stays a list of one", async () => {
    expect((await json({ value: [{ foo: "x" }] })).input("value")).toEqual([{ foo: "x" }]);
  });

  test("3.1415926 in JSON is the same number", async () => {
    expect((await json('{"pi":3.1415926}')).input("pi")).toBe(Number("3.1415926"));
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])("%s with query and body finds both, the body first", async (method) => {
    const inputs = await form("a=body&b=body", { method, query: "?a=query&c=query" });
    expect(inputs.all()).toEqual({ a: "body", b: "body", c: "query" });
    expect([inputs.input("a"), inputs.query, inputs.body]).toEqual([
      "body",
      { a: "query", c: "query" },
      { a: "body", b: "body" },
    ]);
  });

  test("the body replaces a complete name of the query, even if both have members", async () => {
    const inputs = await json({ a: { x: 1 } }, { query: "?a[y]=2" });
    expect([inputs.input("a"), inputs.input("a.y")]).toEqual([{ x: 1 }, null]);
  });

  test("__token=tok&hello=you", async () => {
    const inputs = await form("__token=tok&hello=you&__method=PUT");
    expect(inputs.all()).toEqual({ hello: "you" });
    expect([inputs.input("__token"), inputs.only("__token"), inputs.except("hello")]).toEqual([
      "tok",
      { __token: "tok" },
      {},
    ]);
  });

  test("an absent input is null or the fallback, a blank one stays blank, a JSON null is present", async () => {
    const inputs = await json({ blank: "", none: null });
    expect([
      inputs.input("absent"),
      inputs.input("absent", 1),
      inputs.input("blank", 1),
      inputs.input("none", 1),
    ]).toEqual([null, 1, "", null]);
  });

  test("a name that contains dots is found unchanged", async () => {
    expect((await form("user.name=x&user[name]=y")).input("user.name")).toBe("x");
  });

  test("an empty query and body give no inputs", async () => {
    for (const inputs of [query(""), query("?"), await json(""), await inputsOf(null, null)]) {
      expect([inputs.all(), inputs.query, inputs.body, inputs.input("a"), inputs.file("a"), inputs.files("a")]).toEqual(
        [{}, {}, {}, null, null, []],
      );
    }
  });

  test("every returned dictionary has no prototype", async () => {
    const inputs = await json({ a: { b: [{ c: 1 }] } }, { query: "?q[x]=1" });
    const { a } = inputs.all() as { a: { b: [object] } };
    const handed = [
      inputs.all(),
      inputs.only("a"),
      inputs.except("q"),
      inputs.query,
      inputs.body,
      a,
      a.b[0],
      inputs.input("q"),
    ];
    expect(handed.map((one) => Object.getPrototypeOf(one))).toEqual(handed.map(() => null));
  });
});

describe("only and except", () => {
  const inputs = () =>
    json({
      a: { b: 1, c: 2 },
      list: [
        { id: 1, secret: "x" },
        { id: 2, secret: "y" },
      ],
      n: null,
    });

  test("only returns each input under the given name", async () => {
    expect((await inputs()).only("a.b", "list.*.id", "list.0.id", "n", "a.zzz", "nowhere")).toEqual({
      "a.b": 1,
      "list.*.id": [1, 2],
      "list.0.id": 1,
      n: null,
    });
  });

  test("except leaves out matching paths", async () => {
    expect((await inputs()).except("a.b", "list.*.secret", "n", "nowhere.x")).toEqual({
      a: { c: 2 },
      list: [{ id: 1 }, { id: 2 }],
    });
    expect((await inputs()).except()).toEqual((await inputs()).all());
  });
});

describe("presence", () => {
  const inputs = () => json({ a: "x", blank: " ", none: null, zero: 0, no: false, list: [], o: { p: "" } });

  test.each<[string[], Record<"has" | "hasAny" | "missing" | "filled", boolean>]>([
    [["a"], { has: true, hasAny: true, missing: false, filled: true }],
    [["a", "zero", "no"], { has: true, hasAny: true, missing: false, filled: true }],
    [["blank"], { has: true, hasAny: true, missing: false, filled: false }],
    [["none"], { has: true, hasAny: true, missing: false, filled: false }],
    [["list"], { has: true, hasAny: true, missing: false, filled: false }],
    [["o"], { has: true, hasAny: true, missing: false, filled: true }],
    [["o.p"], { has: true, hasAny: true, missing: false, filled: false }],
    [["o.q"], { has: false, hasAny: false, missing: true, filled: false }],
    [["a", "absent"], { has: false, hasAny: true, missing: true, filled: false }],
    [["a", "blank"], { has: true, hasAny: true, missing: false, filled: false }],
    [["toString"], { has: false, hasAny: false, missing: true, filled: false }],
  ])("of the inputs %j", async (names, expected) => {
    const subject = await inputs();
    expect({
      has: subject.has(...names),
      hasAny: subject.hasAny(...names),
      missing: subject.missing(...names),
      filled: subject.filled(...names),
    }).toEqual(expected);
  });
});

describe("merge", () => {
  test("adds and replaces inputs for all later reads, but not in query and body", async () => {
    const inputs = await form("a=1&b=2", { query: "?c=3" });
    expect(inputs.input("a")).toBe("1");
    inputs.merge({ a: "merged", d: { e: 4 } });
    inputs.merge({ b: "again" });
    expect(inputs.all()).toEqual({ a: "merged", b: "again", c: "3", d: { e: 4 } });
    expect([inputs.input("d.e"), inputs.query, inputs.body]).toEqual([4, { c: "3" }, { a: "1", b: "2" }]);
  });

  test("copies the caller's object, and leaves it alone", async () => {
    const values = { list: [1], when: new Date(0) };
    const inputs = query("");
    inputs.merge(values);
    values.list.push(2);
    expect(inputs.all()).toEqual({ list: [1], when: new Date(0) });
  });

  test("S43 never merges a prototype", () => {
    const inputs = query("?a=1");
    inputs.merge(JSON.parse('{"__proto__":{"x":1},"b":{"constructor":1,"c":2}}'));
    expect([inputs.all(), inputs.input("x")]).toEqual([{ a: "1", b: { c: 2 } }, null]);
  });
});

test("changing a returned value does not change the inputs", async () => {
  const inputs = await json({ a: { b: [1] }, list: [{ c: 1 }] }, { query: "?q[x]=1" });
  const before = structuredClone({ ...inputs.all() });
  (inputs.input("a") as Dictionary).b = "changed";
  (inputs.input("list") as unknown[]).push("changed");
  (inputs.input("list.*") as Dictionary[])[0]!.c = "changed";
  (inputs.array("list")![0] as Dictionary).c = "changed";
  (inputs.only("a").a as Dictionary).b = "changed";
  for (const handed of [inputs.all(), inputs.query, inputs.body, inputs.except()]) {
    for (const name of Object.keys(handed))
      delete (handed[name] as Dictionary)[Object.keys(handed[name] as object)[0]!];
    handed.new = true;
  }
  expect(inputs.all()).toEqual(before);
});

describe("typed readers", () => {
  const inputs = () => query("?s=text&i=42&f=2.5&b=on&d=2026-01-31&e=draft&l[]=1&l[]=2&blank=&o[x]=1&big=1.5");

  test("return their type", () => {
    const subject = inputs();
    expect([
      subject.string("s"),
      subject.integer("i"),
      subject.float("f"),
      subject.boolean("b"),
      subject.date("d"),
      subject.enum("e", ["draft", "published"]),
      subject.array("l"),
      subject.integer("l.0"),
    ]).toEqual(["text", 42, 2.5, true, new Date("2026-01-31"), "draft", ["1", "2"], 1]);
  });

  test("return null or the fallback if the input is absent, or null in JSON", async () => {
    const day = new Date(0);
    for (const subject of [query(""), await json({ x: null })]) {
      expect([
        [subject.string("x"), subject.string("x", "f")],
        [subject.integer("x"), subject.integer("x", 0)],
        [subject.float("x"), subject.float("x", 0.5)],
        [subject.boolean("x"), subject.boolean("x", false)],
        [subject.date("x"), subject.date("x", day)],
        [subject.enum("x", ["a"]), subject.enum("x", ["a"], "a")],
        [subject.array("x"), subject.array("x", [])],
      ]).toEqual([
        [null, "f"],
        [null, 0],
        [null, 0.5],
        [null, false],
        [null, day],
        [null, "a"],
        [null, []],
      ]);
    }
  });

  test("a blank input is text for string(), and absent for the other readers", () => {
    const subject = inputs();
    expect([
      subject.string("blank", "f"),
      subject.integer("blank", 1),
      subject.boolean("blank", true),
      subject.date("blank"),
    ]).toEqual(["", 1, true, null]);
  });

  test("an input of false is not replaced with the fallback", () => {
    expect([query("?b=0").boolean("b", true), query("?n=0").integer("n", 5)]).toEqual([false, 0]);
  });

  test.each<[string, (subject: Inputs) => unknown, string]>([
    ["a list as text", (subject) => subject.string("l"), 'The field "l" must be text.'],
    ["an object as text", (subject) => subject.string("o"), 'The field "o" must be text.'],
    ["a fraction as a whole number", (subject) => subject.integer("big"), 'The field "big" must be a whole number.'],
    ["a list as a number", (subject) => subject.float("l"), 'The field "l" must be a number.'],
    ["text as a boolean", (subject) => subject.boolean("s"), 'The field "s" must be true or false.'],
    ["text as one of others", (subject) => subject.enum("s", ["a", "b"]), 'The field "s" must be one of "a", "b".'],
    ["one text as a list", (subject) => subject.array("s"), 'The field "s" must be a list.'],
    ["what * finds as text", (subject) => subject.string("o.*"), 'The field "o.*" must be text.'],
  ])("S36 %s is a 422 that names the field", (_, read, message) => {
    const field = /"(.+?)"/.exec(message)![1]!;
    expect(() => read(inputs())).toThrow(
      expect.objectContaining({
        code: "E_INVALID_INPUT",
        status: 422,
        message,
        errors: { [field]: [expect.objectContaining({ message })] },
      }),
    );
  });

  test("S36 a number, list or object instead of text is a 422, in every body format", async () => {
    const subjects = [
      ...(await Promise.all([1, true, ["x"], { x: "x" }].map((password) => json({ password })))),
      await form("password[]=x"),
      await form("password[x]=x"),
      await multipart(["password[]", "x"]),
      query("?password[$ne]="),
    ];
    for (const subject of subjects) {
      expect(() => subject.string("password")).toThrow(expect.objectContaining({ code: "E_INVALID_INPUT" }));
    }
  });

  test("are typed by their fallback", () => {
    const subject = query("");
    expectTypeOf(subject.string("x")).toEqualTypeOf<string | null>();
    expectTypeOf(subject.string("x", "y")).toEqualTypeOf<string>();
    expectTypeOf(subject.integer("x", 1)).toEqualTypeOf<number>();
    expectTypeOf(subject.float("x", null)).toEqualTypeOf<number | null>();
    expectTypeOf(subject.boolean("x", false)).toEqualTypeOf<boolean>();
    expectTypeOf(subject.date("x")).toEqualTypeOf<Date | null>();
    expectTypeOf(subject.enum("x", ["a", "b"])).toEqualTypeOf<"a" | "b" | null>();
    expectTypeOf(subject.enum("x", ["a", "b"], "a")).toEqualTypeOf<"a" | "b">();
    expectTypeOf(subject.array("x")).toEqualTypeOf<unknown[] | null>();
    // @ts-expect-error a fallback must have the method's type
    subject.integer("x", "1");
    // @ts-expect-error a fallback must be one of the values
    subject.enum("x", ["a", "b"], "c");
  });
});

describe("files", () => {
  const named = (name: string) => new File([name], name);
  const upload = () =>
    multipart(
      ["title", "T"],
      ["avatar", named("a.png")],
      ["photos[]", named("1.jpg")],
      ["photos[]", named("2.jpg")],
      ["doc", named("old.pdf")],
      ["doc", named("new.pdf")],
      ["user[photo]", named("u.png")],
      ["pages[0]", named("p0.txt")],
      ["pages[1]", named("p1.txt")],
    );

  test("are found by name, lists and members included", async () => {
    const inputs = await upload();
    const names = (field: string) => inputs.files(field).map((file) => file.name);
    expect(["avatar", "photos", "doc", "user.photo", "pages", "user", "title", "nowhere"].map(names)).toEqual([
      ["a.png"],
      ["1.jpg", "2.jpg"],
      ["old.pdf", "new.pdf"],
      ["u.png"],
      ["p0.txt", "p1.txt"],
      [],
      [],
      [],
    ]);
    expect(inputs.file("avatar")).toBeInstanceOf(UploadedFile);
    expect([
      inputs.file("doc")?.name,
      inputs.file("photos")?.name,
      inputs.file("title"),
      inputs.file("nowhere"),
    ]).toEqual(["new.pdf", "2.jpg", null, null]);
  });

  test("are not inputs", async () => {
    const inputs = await upload();
    expect([inputs.all(), inputs.input("avatar"), inputs.has("avatar")]).toEqual([{ title: "T" }, null, false]);
  });

  test("S43 a file under __proto__ is dropped", async () => {
    const inputs = await multipart(["__proto__", named("a")], ["a[__proto__][b]", named("b")], ["constructor", "x"]);
    expect(inputs.all()).toEqual({});
    expect(await inputs.validate(z.looseObject({}))).toEqual({});
  });
});

describe("validate", () => {
  test("S42 returns the schema's output for query and body, with zod and with valibot", async () => {
    const inputs = await form("name=Ann&__token=x&tags[]=a", { query: "?page=2" });
    const withZod = await inputs.validate(
      z.strictObject({ name: z.string(), tags: z.array(z.string()), page: z.coerce.number() }),
    );
    const withValibot = await inputs.validate(
      v.strictObject({ name: v.string(), tags: v.array(v.string()), page: v.pipe(v.string(), v.transform(Number)) }),
    );
    expectTypeOf(withZod).toEqualTypeOf<{ name: string; tags: string[]; page: number }>();
    expectTypeOf(withValibot).toEqualTypeOf<{ name: string; tags: string[]; page: number }>();
    expect([withZod, withValibot]).toEqual([
      { name: "Ann", tags: ["a"], page: 2 },
      { name: "Ann", tags: ["a"], page: 2 },
    ]);
  });

  test("S36 reports every problem at once, by field", async () => {
    const inputs = await json({ user: { name: 1 }, items: [{}, { n: 1 }] });
    const schema = z.object({
      user: z.object({ name: z.string("Text."), email: z.string("Text.") }),
      items: z.array(z.object({ n: z.number("Number.") })),
    });
    const refusal = await inputs.validate(schema).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "E_INVALID_INPUT", status: 422 });
    expect(sentencesIn((refusal as ValidationError).extensions)).toEqual({
      "user.name": ["Text."],
      "user.email": ["Text."],
      "items.0.n": ["Number."],
    });
  });

  test("has files among the inputs, by name, and fields beside them", async () => {
    const inputs = await multipart(
      ["title", "T"],
      ["user[name]", "Ann"],
      ["user[photo]", new File(["x"], "u.png", { type: "image/png" })],
      ["docs[]", new File(["1"], "1.txt")],
      ["docs[]", new File(["2"], "2.txt")],
    );
    inputs.merge({ title: "merged" });
    const result = await inputs.validate(
      z.strictObject({
        title: z.string(),
        user: z.object({ name: z.string(), photo: z.file().max(10).mime("image/png") }),
        docs: z.array(z.instanceof(UploadedFile)),
      }),
    );
    expect(result).toEqual({
      title: "merged",
      user: { name: "Ann", photo: expect.any(UploadedFile) },
      docs: [expect.any(UploadedFile), expect.any(UploadedFile)],
    });
    const withValibot = v.object({ user: v.object({ photo: v.pipe(v.file(), v.maxSize(0, "Too large.")) }) });
    await expect(inputs.validate(withValibot)).rejects.toMatchObject({
      errors: { "user.photo": [{ rule: "max_size", params: { requirement: 0 }, message: "Too large." }] },
    });
  });

  test("values that a schema passes through are copies", async () => {
    const inputs = await json({ a: { b: 1 } });
    ((await inputs.validate(z.object({ a: z.any() }))).a as Dictionary).b = 2;
    expect(inputs.input("a.b")).toBe(1);
  });

  test("S42 a body of an unsupported type is a 415 if the body is needed", async () => {
    for (const type of ["text/plain", "application/xml", "application/octet-stream"]) {
      await expect((await inputsOf("x=1", type)).validate(z.object({}))).rejects.toMatchObject({
        code: "E_UNSUPPORTED_MEDIA_TYPE",
        status: 415,
      });
    }
    expect(await query("?a=1").validate(z.object({ a: z.string() }))).toEqual({ a: "1" });
  });
});

describe("S42 malformed requests are a 4xx, on first use", () => {
  test.each<[string, () => Promise<Inputs>, string]>([
    ["JSON syntax", () => json("{"), "E_INVALID_BODY"],
    ["a JSON scalar", () => json("1"), "E_INVALID_BODY"],
    ["JSON depth", () => json("[[[]]]", { limits: { maxDepth: 2 } }), "E_INVALID_BODY"],
    ["the number of values in JSON", () => json("[1,2,3]", { limits: { maxJsonValues: 2 } }), "E_INVALID_BODY"],
    ["UTF-8 in JSON", () => inputsOf(Uint8Array.of(0x22, 0xff, 0x22), "application/json"), "E_INVALID_BODY"],
    [
      "UTF-8 in a form",
      () => inputsOf(Uint8Array.of(0x61, 0x3d, 0xff), "application/x-www-form-urlencoded"),
      "E_INVALID_BODY",
    ],
    ["percent-encoding in a form", () => form("a=%zz"), "E_INVALID_BODY"],
    ["the number of fields", () => form("a&b&c", { limits: { maxFields: 2 } }), "E_INVALID_BODY"],
    ["brackets in a form", () => form("a[1][2][3][4][5][6]=x"), "E_INVALID_BODY"],
    ["brackets in multipart", () => multipart(["a[1][2][3][4][5][6]", "x"]), "E_INVALID_BODY"],
    ["the charset of JSON", () => inputsOf("{}", "application/json; charset=iso-8859-1"), "E_UNSUPPORTED_MEDIA_TYPE"],
    [
      "the charset of a form",
      () => inputsOf("a=1", 'application/x-www-form-urlencoded; charset="utf-16"'),
      "E_UNSUPPORTED_MEDIA_TYPE",
    ],
    ["UTF-8 in the query, raw", async () => query("?a=\xff"), "E_BAD_REQUEST"],
    ["characters in the query that are not bytes", async () => query("?a=€"), "E_BAD_REQUEST"],
    ["brackets in the query", async () => query("?a[1][2][3][4][5][6]=x"), "E_BAD_REQUEST"],
    ["the query's number of fields", async () => query(`?${"a&".repeat(1001)}`), "E_BAD_REQUEST"],
  ])("%s", async (_, make, code) => {
    const inputs = await make();
    const asks: (() => unknown)[] = [
      () => inputs.input("a"),
      () => inputs.all(),
      () => inputs.only("a"),
      () => inputs.has("a"),
      () => inputs.filled("a"),
      () => inputs.string("a"),
    ];
    for (const ask of asks) expect(ask).toThrow(expect.objectContaining({ name: "AshlarError", code }));
    await expect(inputs.validate(z.object({}))).rejects.toMatchObject({ code });
  });

  test("charset UTF-8 is accepted in any spelling", async () => {
    for (const charset of ["utf-8", "UTF-8", '"utf-8"', "utf8"]) {
      expect((await inputsOf('{"a":1}', `application/json; charset=${charset}`)).input("a")).toBe(1);
    }
  });

  test.each([
    ["?x=50%", "50%"],
    ["?x=%", "%"],
    ["?x=%zz", "%zz"],
    ["?x=%e", "%e"],
    ["?x=100%+of+%C3%A9", "100% of é"],
    ["?x=é%zz", "é%zz"],
    ["?x=%FF", "\ufffd"],
    ["?x=%E0%A4%41", "\ufffdA"],
    ["?x=%00%", "\0%"],
  ])(
    "a percent sign in a query that does not begin an escape is literal, as in URLSearchParams: %s",
    (search, value) => {
      expect(query(search.replace("é", "%C3%A9")).input("x")).toBe(value);
      expect(new URLSearchParams(search).get("x")).toBe(value);
    },
  );

  test("bytes that node:http passes on unchanged are read as UTF-8", () => {
    expect(query(`?q=${Buffer.from("grüße").toString("latin1")}`).input("q")).toBe("grüße");
  });
});

test("S43 no input reaches a prototype", async () => {
  const hostile = '{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}},"a":{"__proto__":{"x":1}}}';
  const subjects = [
    await json(hostile),
    await form("__proto__[x]=1&constructor[prototype][x]=1&a[__proto__][x]=1&a[y]=1"),
    await multipart(["__proto__[x]", "1"], ["constructor[prototype][x]", "1"], ["a[__proto__][x]", "1"], ["a[y]", "1"]),
    query("?__proto__[x]=1&constructor[prototype][x]=1&a[__proto__][x]=1&a[y]=1"),
  ];
  for (const subject of subjects) {
    const found = [
      "x",
      "__proto__",
      "__proto__.x",
      "constructor",
      "constructor.name",
      "a.__proto__",
      "a.x",
      "toString",
      "a.toString.name",
    ];
    expect(found.map((name) => subject.input(name))).toEqual(found.map(() => null));
    expect(subject.only(...found)).toEqual({});
    expect(Object.keys(subject.all())).toEqual(["a"]);
    expect(() => subject.except(...found)).not.toThrow();
  }
  expect(({} as { x?: unknown }).x).toBeUndefined();
});

test("nothing is parsed before the first use", () => {
  const unread = new Inputs(
    "?a[1][2][3][4][5][6]=x",
    { kind: "json", bytes: Buffer.from("{"), type: "application/json" },
    DEFAULT_BODY_LIMITS,
  );
  expect(() => unread.merge({ a: 1 })).not.toThrow();
  expect(unread.files("a")).toEqual([]);
  expect(() => unread.body).toThrow(new AshlarError("E_INVALID_BODY", "The body is not valid JSON."));
  expect(() => unread.query).toThrow(expect.objectContaining({ code: "E_BAD_REQUEST" }));
});

test("S42 any query and body result in inputs or a 4xx for every operation", async () => {
  const types = [
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=B",
    "text/plain",
    "",
  ];
  const name = fc.oneof(fc.constantFrom("a", "a.b", "*", "a.*", "__proto__", "0"), fc.string());
  const text = fc.oneof(fc.json(), fc.string(), fc.webQueryParameters());
  await fc.assert(
    fc.asyncProperty(
      text,
      fc.webQueryParameters(),
      fc.constantFrom(...types),
      name,
      async (body, search, type, path) => {
        try {
          const inputs = await inputsOf(Buffer.from(body), type, { query: `?${search}` });
          expect(inputs.has(path)).toBe(!inputs.missing(path));
          if (!inputs.has(path)) expect([inputs.input(path, "f"), inputs.only(path)]).toEqual(["f", {}]);
          inputs.except(path);
          inputs.string(path);
        } catch (error) {
          expect([400, 415, 422]).toContain((error as AshlarError).status);
        }
      },
    ),
    { numRuns: 500 },
  );
});

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

  test("can be read after they are merged", () => {
    const { request } = makeContext({ url: "http://localhost/?a=1" });
    expect(request.merge({ a: "2", b: "3" })).toBe(request);
    expect(request.all()).toEqual({ a: "2", b: "3" });
  });

  test("include the files of a multipart form", async () => {
    const body = new FormData();
    body.append("photo", new File(["bytes"], "a.png", { type: "image/png" }));
    const { request } = await makeLoadedContext({ body });
    expect([request.file("photo")?.size, request.files("photo").length, request.file("x"), request.files("x")]).toEqual(
      [5, 1, null, []],
    );
  });

  test("come only from the query before the body is read", async () => {
    const { request } = makeContext({ url: "http://localhost/?a=1", headers: FORM, body: "b=2" });
    expect(request.all()).toEqual({ a: "1" });
    await request.loadBody();
    await request.loadBody();
    expect(request.all()).toEqual({ a: "1", b: "2" });
  });

  test("are checked against a schema, which reports all problems at once", async () => {
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
