import fc from "fast-check";
import { expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { sentencesIn } from "../../../test/support/field-errors.ts";
import { AshlarError } from "../../support/index.ts";
import { ColumnValueError, columnName, columnValue, isColumnName, kindOf, tableName } from "./column-names.ts";

test.each(["id", "api_token", "_x", "A1", "a".repeat(63)])("%s is a column's name", (name) => {
  expect(columnName(name)).toBe(name);
});

test.each([
  "",
  "1a",
  "a b",
  "a.b",
  'a"',
  "a'",
  "a`",
  "a;",
  "a-b",
  "a\0",
  "a\n",
  "ä",
  "a".repeat(64),
  "__proto__",
  "constructor",
  "prototype",
  undefined,
  null,
  7,
  ["id"],
  { toString: () => "id" },
])("%j is not a column's name", (name) => {
  expect(() => columnName(name)).toThrow(expect.objectContaining({ code: "E_INVALID_QUERY" }));
});

test("S43 any accepted column name needs no quotes and reaches no prototype", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ maxLength: 70 }), anyText()), (name) => {
      if (!isColumnName(name)) return;
      expect(name).toMatch(/^[A-Za-z_]\w*$/);
      expect(["__proto__", "constructor", "prototype"]).not.toContain(name);
    }),
  );
});

test("S36 a column is compared with a single value, whatever the static types", () => {
  fc.assert(
    fc.property(fc.anything({ withDate: true, withBigInt: true }), (value) => {
      try {
        const taken: unknown = columnValue("email", value);
        expect(
          taken === null || ["string", "number", "bigint", "boolean"].includes(typeof taken) || taken instanceof Date,
        ).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(AshlarError);
        const isInput = !["undefined", "function", "symbol"].includes(typeof value);
        expect((error as AshlarError).code).toBe(isInput ? "E_INVALID_INPUT" : "E_INVALID_QUERY");
      }
    }),
  );
});

test("a kind is described without the value", () => {
  const values = [new Date(Number.NaN), ["secret"], { a: "secret" }, Number.NaN, undefined, () => "secret"];
  expect(values.map(kindOf)).toEqual(["an invalid date", "a list", "an object", "NaN", "undefined", "function"]);
});

test.each([
  ["User", "users"],
  ["OrderLine", "order_lines"],
  ["Category", "categories"],
  ["Day", "days"],
  ["Typist", "typists"],
  ["Address", "addresses"],
  ["Box", "boxes"],
  ["Match", "matches"],
  ["HTTPRequest", "http_requests"],
  ["OAuth2Client", "o_auth2_clients"],
])("the table of %s is %s", (className, table) => {
  expect(tableName(className)).toBe(table);
});

test("invalid text is described by its problem", () => {
  expect(kindOf("secret\0")).toBe("text with a NUL or half a surrogate pair");
});

test("a value that no request can contain is reported as a mistake in the code", () => {
  for (const value of [Symbol("x"), () => 1, undefined]) {
    expect(() => columnValue("email", value)).toThrow(expect.objectContaining({ code: "E_INVALID_QUERY" }));
  }
});

test("a value that does not fit is reported under its column, or under no name if that is not known", () => {
  const sentence = "This value can't be used here.";
  const [known, unknown] = ["email", null].map((column) => new ColumnValueError(column, "It is a list."));
  expect(known).toMatchObject({ code: "E_INVALID_INPUT", message: expect.stringContaining("It is a list.") });
  expect([known, unknown].map(sentencesIn)).toEqual([{ email: [sentence] }, { "": [sentence] }]);
});

test.each(["a\0", "\ud800", "\udc00a"])("S36 the text %j, which not every database keeps, is refused", (text) => {
  expect(() => columnValue("email", text)).toThrow(expect.objectContaining({ code: "E_INVALID_INPUT" }));
});

test("bytes, null and integers beyond the range of a number are accepted unchanged", () => {
  const values = [new Uint8Array([1]), null, 2n ** 62n];
  expect(values.map((value) => columnValue("c", value))).toEqual(values);
});

test("only the message for a list or an object explains how to store it", () => {
  const message = (value: unknown): string => {
    try {
      return String(columnValue("c", value));
    } catch (error) {
      return (error as Error).message;
    }
  };
  const remedy = ' To store objects and lists, use the cast "json".';
  expect([message([]), message({}), message(Number.NaN)]).toEqual([
    expect.stringMatching(/a list\. To store objects and lists, use the cast "json"\.$/),
    expect.stringContaining(`an object.${remedy}`),
    expect.stringMatching(/NaN\.$/),
  ]);
});
