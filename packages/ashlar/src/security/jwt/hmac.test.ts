import { createHmac, randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { algorithmDetails, type HmacAlgorithm, type JwtAlgorithm } from "./algorithms.ts";
import { Hmac } from "./hmac.ts";

const ALGORITHMS: readonly JwtAlgorithm[] = ["HS256", "HS384", "HS512"];

function details(name: JwtAlgorithm): HmacAlgorithm {
  const found = algorithmDetails(name);
  if (found.family !== "hmac") throw new Error(name);
  return found;
}

/** Of any length up to this. By default, fast-check generates about ten bytes. */
function bytes(maxLength: number): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ maxLength, size: "max" });
}

describe.each(ALGORITHMS)("%s", (name) => {
  const algorithm = details(name);

  test("it agrees with createHmac for keys and messages of any length", () => {
    fc.assert(
      fc.property(bytes(300), bytes(600), (key, message) => {
        const expected = createHmac(algorithm.hash, key).update(message).digest("base64url");
        expect(new Hmac(algorithm, key).compute(message)).toBe(expected);
      }),
      { numRuns: 300 },
    );
  });

  test("text is encoded as UTF-8, and a message may be longer than the prepared buffer", () => {
    const key = randomBytes(64);
    const hmac = new Hmac(algorithm, key);
    for (const message of ["", "é😀", "x".repeat(8192), "x".repeat(8193), "é".repeat(6000)]) {
      expect(hmac.compute(message)).toBe(createHmac(algorithm.hash, key).update(message).digest("base64url"));
    }
  });

  test("one message does not affect the next", () => {
    const key = randomBytes(64);
    const hmac = new Hmac(algorithm, key);
    const before = hmac.compute("short");
    hmac.compute("a much longer message that fills more of the buffer");
    expect(hmac.compute("short")).toBe(before);
  });

  test("it verifies its own code, but no code with a character changed, removed or added", () => {
    const hmac = new Hmac(algorithm, randomBytes(64));
    const input = "head.body";
    const code = hmac.compute(input);
    expect(hmac.verifies(`${input}.${code}`, input.length)).toBe(true);
    for (let index = 0; index < code.length; index++) {
      const other = code[index] === "A" ? "B" : "A";
      expect(hmac.verifies(`${input}.${code.slice(0, index)}${other}${code.slice(index + 1)}`, input.length)).toBe(
        false,
      );
    }
    expect(hmac.verifies(`${input}.${code.slice(0, -1)}`, input.length)).toBe(false);
    expect(hmac.verifies(`${input}.${code}A`, input.length)).toBe(false);
    expect(hmac.verifies(`${input}.`, input.length)).toBe(false);
  });

  test("S6 a non-ASCII character never matches a byte left in the buffer by an earlier token", () => {
    const hmac = new Hmac(algorithm, randomBytes(64));
    const input = "head.body";
    const code = hmac.compute(input);
    const foreign = ["\u0141", "\u20ac", "\ud83d", "é", String.fromCharCode(0x100 + code.charCodeAt(code.length - 1))];
    for (const character of foreign) {
      expect(hmac.verifies(`${input}.${code}`, input.length)).toBe(true);
      expect(hmac.verifies(`${input}.${code.slice(0, -1)}${character}`, input.length)).toBe(false);
      expect(hmac.verifies(`${input}.${code}`, input.length)).toBe(true);
      expect(hmac.verifies(`head.bod${character}.${code}`, input.length)).toBe(false);
    }
  });

  test("a token longer than the prepared buffer is verified too", () => {
    const hmac = new Hmac(algorithm, randomBytes(64));
    const input = `head.${"b".repeat(9000)}`;
    expect(hmac.verifies(`${input}.${hmac.compute(input)}`, input.length)).toBe(true);
    expect(hmac.verifies(`${input}.${hmac.compute(`${input}b`)}`, input.length)).toBe(false);
  });
});
