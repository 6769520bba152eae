import { describe, expect, test } from "vitest";
import type { RequestBody } from "../bodies/body.ts";
import { overriddenMethod } from "./method-override.ts";

/** An unparsed body, and the result of parsing it. */
function form(text: string): RequestBody {
  return { kind: "form", bytes: new TextEncoder().encode(text), type: "application/x-www-form-urlencoded" };
}

describe("the method override", () => {
  test.each(["PUT", "PATCH", "DELETE"])("turns a POST into a %s, whatever the case", (method) => {
    expect(overriddenMethod("POST", form("__method="), () => method)).toBe(method);
    expect(overriddenMethod("POST", form("__method="), () => method.toLowerCase())).toBe(method);
  });

  test.each(["GET", "HEAD", "OPTIONS", "CONNECT", "TRACE", "POST", "", "PUT ", "X", 1, null, ["PUT"], { a: "PUT" }])(
    "leaves a POST as it is for any other value: %j",
    (method) => {
      expect(overriddenMethod("POST", form("__method="), () => method)).toBe("POST");
    },
  );

  test.each(["GET", "HEAD", "PUT", "PATCH", "DELETE"])("leaves a %s alone", (method) => {
    expect(overriddenMethod(method, form("__method="), () => "PUT")).toBe(method);
  });

  test("does not parse a body that cannot contain it", () => {
    const parse = () => expect.unreachable();
    expect(overriddenMethod("POST", form("a=b"), parse)).toBe("POST");
    expect(overriddenMethod("POST", { kind: "none" }, parse)).toBe("POST");
    expect(overriddenMethod("POST", { ...form("__method=PUT"), kind: "unsupported" } as RequestBody, parse)).toBe(
      "POST",
    );
    expect(
      overriddenMethod(
        "POST",
        { kind: "multipart", bytes: null, size: 0, fields: [["a", "__method"]], files: [] },
        parse,
      ),
    ).toBe("POST");
  });

  test("S42 a body that cannot be parsed overrides nothing and throws no error here", () => {
    const parse = () => {
      throw new Error("malformed");
    };
    expect(overriddenMethod("POST", form("__method=PUT"), parse)).toBe("POST");
  });
});
