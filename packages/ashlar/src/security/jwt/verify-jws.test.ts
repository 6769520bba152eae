import { createHmac, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { JwtError, type JwtFailure } from "./errors.ts";
import { SigningKey, VerificationKey } from "./keys.ts";
import { signJws } from "./sign.ts";
import { verifyJws } from "./verify.ts";

const SECRET = randomBytes(32);
const SIGNING = new SigningKey("HS256", SECRET);
const KEY = new VerificationKey("HS256", SECRET);

/** Signs the given header and payload unchanged, however invalid. */
function forge(header: string, payload: string): string {
  const input = `${header}.${payload}`;
  return `${input}.${createHmac("sha256", SECRET).update(input).digest("base64url")}`;
}

function segment(text: string): string {
  return Buffer.from(text).toString("base64url");
}

function reason(token: string, options = {}): JwtFailure | null {
  try {
    verifyJws(token, KEY, options);
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(JwtError);
    return (error as JwtError).reason;
  }
}

describe("verifying a JWS", () => {
  test("header, payload and key are returned", () => {
    const verified = verifyJws(signJws(new Uint8Array([0, 255, 1]), SIGNING, { kid: "a", cty: "x" }), KEY);
    expect(verified).toEqual({
      header: { alg: "HS256", kid: "a", cty: "x" },
      payload: Buffer.from([0, 255, 1]),
      key: KEY,
    });
    expect(verified.key).toBe(KEY);
  });

  test("the payload need not be JSON or UTF-8, and may be empty", () => {
    for (const payload of ["", "foo", "{", "\uFEFF", Buffer.from([0xff, 0xfe])]) {
      expect(Buffer.from(verifyJws(signJws(payload, SIGNING), KEY).payload)).toEqual(Buffer.from(payload as string));
    }
  });

  test("a returned payload does not change when another token is verified", () => {
    const first = verifyJws(signJws("first", SIGNING), KEY).payload;
    verifyJws(signJws("other", SIGNING), KEY);
    expect(Buffer.from(first).toString()).toBe("first");
  });

  test("any of several keys may have signed, and the signing key is returned", () => {
    const older = randomBytes(64);
    const keys = [KEY, new VerificationKey("HS512", older), new VerificationKey("HS256", older)];
    expect(verifyJws(signJws("x", new SigningKey("HS512", older)), keys).key).toBe(keys[1]);
    expect(verifyJws(signJws("x", new SigningKey("HS256", older)), keys).key).toBe(keys[2]);
    expect(() => verifyJws(signJws("x", new SigningKey("HS384", older)), keys)).toThrow(
      expect.objectContaining({ reason: "algorithm" }),
    );
  });

  test.each<[string, string, JwtFailure]>([
    ["nothing", "", "malformed"],
    ["one part", "Zm9v", "malformed"],
    ["two parts", "Zm9v.Zm9v", "malformed"],
    ["one part that would be a header but for its end", `${segment('{"alg":"HS256"}')}x`, "malformed"],
    ["a third part that is empty, and a fourth", `${segment('{"alg":"HS256"}')}.Zm9v..Zm9v`, "malformed"],
    ["no header", forge("", "Zm9v"), "malformed"],
    ["two dots alone", "..", "malformed"],
    ["no signature", `${segment('{"alg":"HS256"}')}.Zm9v.`, "signature"],
    ["a fourth part", `${signJws("x", SIGNING)}.`, "malformed"],
    ["a header that is not JSON", forge(segment("{alg:HS256}"), "Zm9v"), "malformed"],
    ["a header that is a list", forge(segment('["HS256"]'), "Zm9v"), "malformed"],
    ["a header that is a text", forge(segment('"HS256"'), "Zm9v"), "malformed"],
    ["a header that is null", forge(segment("null"), "Zm9v"), "malformed"],
    ["a header with something behind it", forge(segment('{"alg":"HS256"}x'), "Zm9v"), "malformed"],
    ["a header without an algorithm", forge(segment("{}"), "Zm9v"), "algorithm"],
    ["an algorithm that is not text", forge(segment('{"alg":["HS256"]}'), "Zm9v"), "algorithm"],
    ["an algorithm in another case", forge(segment('{"alg":"hs256"}'), "Zm9v"), "algorithm"],
    ["a header of another algorithm twice", forge(segment('{"alg":"HS256","alg":"none"}'), "Zm9v"), "algorithm"],
    ["a payload that is padded", forge(segment('{"alg":"HS256"}'), "Zm8="), "malformed"],
    ["a payload with stray bits", forge(segment('{"alg":"HS256"}'), "Zm9"), "malformed"],
  ])("%s is refused", (_, token, expected) => {
    expect(reason(token)).toBe(expected);
  });

  test("whitespace and the order of members in the header are up to the signer", () => {
    expect(reason(forge(segment(' {\n"typ" : "JWT" ,\t"alg":"HS256"}\r\n'), "Zm9v"))).toBeNull();
  });

  test("a token that is not text is malformed", () => {
    for (const token of [null, undefined, 5, {}, ["a.b.c"], Buffer.from("a.b.c")]) {
      expect(reason(token as unknown as string)).toBe("malformed");
    }
  });

  test("S6 the size is limited, by default to 8192 bytes", () => {
    const fits = signJws("x".repeat(6080), SIGNING);
    const token = (bytes: number) => {
      const rest = bytes - fits.length;
      return signJws("x".repeat(6080 + Math.floor((rest * 3) / 4)), SIGNING);
    };
    const longest = token(8192);
    expect(longest).toHaveLength(8192);
    expect(reason(longest)).toBeNull();
    expect([reason("x".repeat(8192)), reason("x".repeat(8193))]).toEqual(["malformed", "too_large"]);
    const longer = token(8196);
    expect(longer.length).toBeGreaterThan(8192);
    expect(reason(longer)).toBe("too_large");
    expect(reason(longer, { maxBytes: 10_000 })).toBeNull();
    expect(reason(signJws("x".repeat(100_000), SIGNING), { maxBytes: 1_000_000 })).toBeNull();
    expect(reason(longest, { maxBytes: 100 })).toBe("too_large");
  });

  test("S9 an invalid size limit is a configuration error", () => {
    for (const maxBytes of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "8192", null]) {
      expect(() => verifyJws(signJws("x", SIGNING), KEY, { maxBytes: maxBytes as number })).toThrow(
        expect.objectContaining({ code: "E_INVALID_CONFIGURATION" }),
      );
    }
  });

  test("every refusal has the same code, status and message", () => {
    const seen = ["", "a.b.c", signJws("x", new SigningKey("HS256", randomBytes(32)))].map((token) => {
      try {
        return verifyJws(token, KEY);
      } catch (error) {
        const { code, status, message, name, headers, extensions } = error as JwtError;
        return { code, status, message, name, headers, extensions };
      }
    });
    const expected = {
      code: "E_JWT_INVALID",
      status: 401,
      message: "The token is not valid.",
      name: "JwtError",
      headers: {},
      extensions: {},
    };
    expect(seen).toEqual([expected, expected, expected]);
  });
});
