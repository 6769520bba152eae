import { describe, expect, test } from "vitest";
import { generateSecret, Signer } from "../../security/index.ts";
import { compilerSet } from "./compilers.ts";
import { ownCompilers } from "./own-compilers.ts";
import { parsePattern, segmentsByLength, toRou3 } from "./pattern.ts";

const compilers = compilerSet(await ownCompilers({ year: /\d{4}/ }), new Signer(generateSecret(), "signed-url"), () => {
  throw new Error("no compiler is refused");
});

const parse = (text: string) => parsePattern(text, compilers);

describe("a pattern", () => {
  test("has one slash before each segment and none at its end", () => {
    expect(["/", "", "a", "/a", "/a/", "a/b/", "/@id:int/"].map((text) => parse(text).text)).toEqual([
      "/",
      "/",
      "/a",
      "/a",
      "/a",
      "/a/b",
      "/@id:int",
    ]);
  });

  test("consists of text and parameters", () => {
    const { segments, parameters } = parse("/orders/@id:int/?note");
    expect(segments[0]).toBe("orders");
    expect(parameters).toEqual([
      { name: "id", compilerName: "int", compiler: compilers.get("int"), optional: false },
      { name: "note", compilerName: null, compiler: compilers.get(null), optional: true },
    ]);
    expect(segments.slice(1)).toEqual(parameters);
  });

  test("parameter names are case-sensitive", () => {
    expect(parse("/@id/@ID/@_id").parameters.map(({ name }) => name)).toEqual(["id", "ID", "_id"]);
  });

  test("a parameter sign inside a segment is text", () => {
    expect(parse("/user@host/a-@b").segments).toEqual(["user@host", "a-@b"]);
  });
});

describe("the pattern passed to rou3", () => {
  const given = (text: string) => segmentsByLength(parse(text)).map(toRou3);

  test.each([
    ["/", ["/"]],
    ["/a.b/c-d_e~f", ["/a.b/c-d_e~f"]],
    ["/a:b", ["/a\\:b"]],
    ["/*", ["/\\*"]],
    ["/**", ["/\\*\\*"]],
    ["/(a)", ["/\\(a\\)"]],
    ["/a+b!", ["/a\\+b\\!"]],
    ["/{a}", ["/%7Ba%7D"]],
    ["/x@y", ["/x\\@y"]],
    ["/é", ["/%C3%A9"]],
    ["/@id", ["/:id"]],
    ["/@id:int/b", ["/:id(\\d+)/b"]],
    ["/@id:year", ["/:id(.+)"]],
    ["/@id:signed", ["/:id(.+)"]],
    ["/@path:any", ["/**:path"]],
    ["/a/?id", ["/a/:id", "/a"]],
    ["/?a:int/?b", ["/:a(\\d+)/:b", "/:a(\\d+)", "/"]],
    ["/a/?path:any", ["/a/**:path", "/a"]],
  ])("for %s", (text, paths) => {
    expect(given(text)).toEqual(paths);
  });
});
