import { expect, test } from "vitest";
import { repeatedFields } from "./form-parser.ts";

const repeatedIn = (query: string) => repeatedFields([...new URLSearchParams(query)]);

test.each([
  ["a=1&b=2", []],
  ["tags=a&tags=b", ["tags"]],
  ["tags=a&b=1&tags=b&b=2&tags=c", ["tags", "b"]],
  ["tags[]=a&tags[]=b", []],
  ["user[tags]=a&user[tags]=b", ["user[tags]"]],
  ["rows[][a]=1&rows[][a]=2", []],
])("in %s the fields %j lose values", (query, names) => {
  expect(repeatedIn(query)).toEqual(names);
});

test.each(["0", "", "false", "off", "no"])("a hidden field %j before its checkbox loses nothing", (value) => {
  expect(repeatedIn(`news=${value}&news=1`)).toEqual([]);
  expect(repeatedIn(`news=${value}&news=1&news=2`)).toEqual(["news"]);
  expect(repeatedIn(`news=1&news=${value}`)).toEqual(["news"]);
});
