import { describe, expect, test } from "vitest";
import { AshlarError } from "../../support/index.ts";
import { checkHeader, headerKey } from "./header-fields.ts";

describe("setting a header", () => {
  test.each(["a\r\nx: y", "a\rb", "a\nb", "a\0b", "a\u001fb", "a\u007fb", "a\u0100b", "\u2028", "\r\n", "a\n"])(
    "S46 the value %j is refused",
    (value) => {
      expect(() => checkHeader("x-a", value)).toThrow(AshlarError);
      expect(() => checkHeader("x-a", value)).toThrow(
        'The value of the header "x-a" contains a line break, another control character or one beyond U+00FF.',
      );
    },
  );

  test.each(["", "a b", "a:b", "a\r\nb", "a\0", "é", "a,b", "a/b", '"a"', "a\n"])(
    "S46 the name %j is refused",
    (name) => {
      expect(() => checkHeader(name, "x")).toThrow(`${JSON.stringify(name)} cannot be the name of a header.`);
    },
  );

  test("every token is accepted as a name, and visible characters, spaces and tabs as a value", () => {
    expect(() => checkHeader("X-Request_Id.1!#$%&'*+^`|~", "a b\tc é \u00ff")).not.toThrow();
    expect(() => checkHeader("x", "")).not.toThrow();
  });

  test("a name has one key, whatever its case and with dashes or underscores", () => {
    for (const name of ["content_type", "Content-Type", "CONTENT-TYPE", "Content_type"]) {
      expect(headerKey(name)).toBe("content-type");
    }
  });
});
