import { createHmac, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { JwtAlgorithm } from "./algorithms.ts";
import { SigningKey, VerificationKey } from "./keys.ts";
import { signJws } from "./sign.ts";
import { verifyJws } from "./verify.ts";

const SECRET = randomBytes(64);
const KEY = new SigningKey("HS256", SECRET);

function segment(text: string): string {
  return Buffer.from(text).toString("base64url");
}

describe("signing a JWS", () => {
  test("a token is the header, the payload and the signature of both", () => {
    const input = `${segment('{"alg":"HS256","typ":"note","kid":"k1"}')}.${segment("dämon")}`;
    const expected = `${input}.${createHmac("sha256", SECRET).update(input).digest("base64url")}`;
    expect(signJws("dämon", KEY, { typ: "note", kid: "k1" })).toBe(expected);
    expect(signJws(Buffer.from("dämon"), KEY, { typ: "note", kid: "k1" })).toBe(expected);
  });

  test("the header contains only the algorithm by default, and the payload may be empty", () => {
    expect(signJws("", KEY).startsWith(`${segment('{"alg":"HS256"}')}..`)).toBe(true);
  });

  test("S5 members that would change the algorithm or how the token is read cannot be put into the header", () => {
    const polluting = JSON.parse('{"__proto__":{"a":1}}') as Record<string, unknown>;
    for (const header of [
      { alg: "none" },
      { alg: "HS256" },
      { crit: ["exp"] },
      { crit: null },
      { b64: false },
      polluting,
    ]) {
      expect(() => signJws("x", KEY, header)).toThrow(expect.objectContaining({ code: "E_JWT_CLAIMS" }));
    }
  });

  test("a header that is not a plain object, or cannot be serialized, is refused", () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    for (const [header, problem] of [
      [null, "must be a plain object"],
      [[], "must be a plain object"],
      [new Map(), "must be a plain object"],
      ["kid", "must be a plain object"],
      [circular, "cannot be written as JSON"],
      [{ size: 1n }, "cannot be written as JSON"],
    ]) {
      const message = `The header ${problem}.`;
      expect(() => signJws("x", KEY, header as Record<string, unknown>)).toThrow(
        expect.objectContaining({ code: "E_JWT_CLAIMS", message }),
      );
    }
  });

  test.each<[JwtAlgorithm, () => { privateKey: KeyObject; publicKey: KeyObject }, number]>([
    ["RS256", () => generateKeyPairSync("rsa", { modulusLength: 2048 }), 256],
    ["PS384", () => generateKeyPairSync("rsa", { modulusLength: 2048 }), 256],
    ["ES256", () => generateKeyPairSync("ec", { namedCurve: "P-256" }), 64],
    ["ES384", () => generateKeyPairSync("ec", { namedCurve: "P-384" }), 96],
    ["ES512", () => generateKeyPairSync("ec", { namedCurve: "P-521" }), 132],
    ["EdDSA", () => generateKeyPairSync("ed25519"), 64],
    ["EdDSA", () => generateKeyPairSync("ed448"), 114],
  ])("%s creates a signature of the right length, which verifies", (algorithm, generate, bytes) => {
    const { privateKey, publicKey } = generate();
    const token = signJws("payload", new SigningKey(algorithm, privateKey));
    expect(Buffer.from(token.split(".")[2] ?? "", "base64url")).toHaveLength(bytes);
    const verified = verifyJws(token, new VerificationKey(algorithm, publicKey));
    expect(verified.header).toEqual({ alg: algorithm });
    expect(Buffer.from(verified.payload).toString()).toBe("payload");
  });
});
