import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { bestType, isJsonType, prefersJson } from "./media-types.ts";

const HTML = "text/html";
const JSON_TYPE = "application/json";
const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";
const AXIOS = "application/json, text/plain, */*";

describe("the best of several types", () => {
  test.each([
    [null, JSON_TYPE],
    ["", JSON_TYPE],
    ["*/*", JSON_TYPE],
    ["text/html", HTML],
    ["text/*", HTML],
    ["TEXT/HTML", HTML],
    [BROWSER, HTML],
    [AXIOS, JSON_TYPE],
    ["text/html;q=0.5, application/json;q=0.4", HTML],
    ["text/html;q=0.4, application/json;q=0.5", JSON_TYPE],
    ["text/html; q=0.5 , application/json ; q=0.5", JSON_TYPE],
    ["text/html;Q=0.1, */*", JSON_TYPE],
    ["application/json;q=0, */*", HTML],
    ["application/json;q=0.000, */*;q=0.001", HTML],
    ["application/*;q=0, */*;q=0.1", HTML],
    ["image/png", null],
    ["application/json;q=0", null],
    ["*/*;q=0", null],
  ])("given JSON and HTML, %j wants %s", (accept, expected) => {
    expect(bestType(accept, [JSON_TYPE, HTML])).toBe(expected);
  });

  test("the example in RFC 9110 §12.5.1 is weighted as described there", () => {
    const accept = "text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, text/plain;format=fixed;q=0.4, */*;q=0.5";
    const better = (a: string, b: string) => bestType(accept, [b, a]) === a;
    const order = ["text/plain;format=flowed", "text/plain", "image/jpeg", "text/plain;format=fixed", "text/html"];
    for (let index = 1; index < order.length; index++) expect(better(order[index - 1]!, order[index]!)).toBe(true);
  });

  test("a requested parameter must be offered, quoted or not", () => {
    expect(bestType("text/html;level=1", [HTML])).toBeNull();
    expect(bestType('text/html;level="1"', ["text/html; level=1"])).toBe("text/html; level=1");
  });

  test("commas and semicolons inside quotes are not separators", () => {
    expect(bestType('text/plain;x="a,text/html;q=1", application/json', [HTML, JSON_TYPE])).toBe(JSON_TYPE);
    expect(bestType('text/plain;x="\\",text/html", application/json', [HTML, JSON_TYPE])).toBe(JSON_TYPE);
  });

  test.each([
    "garbage",
    "text",
    "text/",
    "/html",
    "text/html/x",
    "*/html",
    "text/html;q=2",
    "text/html;q=-1",
    "text/html;q=",
    "text/html;q=0.1234",
    "text/html;level",
    ",,,",
    "text html",
  ])("%j cannot be parsed and excludes nothing", (accept) => {
    expect(bestType(accept, [JSON_TYPE, HTML])).toBe(JSON_TYPE);
    expect(bestType(`${accept}, text/html`, [JSON_TYPE, HTML])).toBe(HTML);
  });

  test("without any types the result is null", () => {
    expect(bestType(null, [])).toBeNull();
    expect(bestType("*/*", [])).toBeNull();
  });

  test("no header makes it throw, and the result is one of the types", () => {
    const piece = fc.constantFrom(
      "text",
      "html",
      "/",
      "*",
      ",",
      ";",
      "q=",
      "0",
      ".5",
      "1",
      '"',
      "\\",
      " ",
      "json",
      "é",
    );
    const header = fc.oneof(
      fc.array(piece, { maxLength: 20 }).map((list) => list.join("")),
      anyText(),
    );
    fc.assert(
      fc.property(header, (accept) => {
        expect([JSON_TYPE, HTML, null]).toContain(bestType(accept, [JSON_TYPE, HTML]));
        expect(typeof prefersJson(accept, accept)).toBe("boolean");
      }),
      { numRuns: 1000 },
    );
  });

  test("the type with the highest weight wins, whatever the order", () => {
    const types = ["text/a", "text/b", "text/c"];
    const weights = fc.tuple(...types.map(() => fc.integer({ min: 0, max: 1000 })));
    fc.assert(
      fc.property(weights, fc.shuffledSubarray([0, 1, 2], { minLength: 3 }), (quality, order) => {
        const accept = order.map((index) => `${types[index]};q=${(quality[index]! / 1000).toFixed(3)}`).join(",");
        const most = Math.max(...quality);
        expect(bestType(accept, types)).toBe(most === 0 ? null : types[quality.indexOf(most)]);
      }),
    );
  });

  test("a long header is parsed quickly", () => {
    const time = cpuTimeOf(() => {
      bestType("text/html;q=0.1,".repeat(20_000), [HTML, JSON_TYPE]);
      bestType(`text/html;x="${"\\".repeat(200_000)}`, [HTML]);
    });
    expect(time).toBeLessThan(2000);
  });
});

describe("JSON or a page", () => {
  test.each([
    [null, null, false],
    ["*/*", null, false],
    ["application/json", null, true],
    ["application/problem+json", null, true],
    ["application/vnd.api+json; charset=utf-8", null, true],
    [AXIOS, null, true],
    ["*/*, application/json", null, true],
    ["application/json, text/html", null, true],
    ["text/html, application/json", null, false],
    ["text/html;q=0.9, application/json", null, true],
    ["application/json;q=0.9, text/html", null, false],
    ["application/json;q=0, */*", null, false],
    ["application/jsonp", null, false],
    [BROWSER, null, false],
    [null, "application/json", true],
    ["*/*", "application/json; charset=utf-8", true],
    ["text/plain", "application/json", true],
    ["text/html", "application/json", false],
    ["application/xhtml+xml", "application/json", false],
    [BROWSER, "application/json", false],
    ["*/*", "application/x-www-form-urlencoded", false],
    ["application/json", "multipart/form-data; boundary=x", true],
  ])("Accept %j with Content-Type %j: %s", (accept, contentType, expected) => {
    expect(prefersJson(accept, contentType)).toBe(expected);
  });

  test.each([
    ["application/json", true],
    ["APPLICATION/JSON", true],
    [" application/json ; charset=utf-8", true],
    ["application/ld+json", true],
    ["text/json", false],
    ["text/plain", false],
    ["application/json5", false],
    ["application/+json", false],
    ["application/a b+json", false],
    ["", false],
    [null, false],
  ])("the type %j is JSON: %s", (type, expected) => {
    expect(isJsonType(type)).toBe(expected);
  });
});
