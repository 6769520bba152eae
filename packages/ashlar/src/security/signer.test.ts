import { createHmac } from "node:crypto";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { cpuTimeOf } from "../../test/support/cpu-time.ts";
import { setClock } from "../support/index.ts";
import { deriveKey } from "./keys.ts";
import { generateSecret } from "./secrets.ts";
import { Signer } from "./signer.ts";

const SECRET = generateSecret();
const signer = new Signer(SECRET, "signed-url");
const START = Date.UTC(2026, 0, 1);

afterEach(() => setClock(null));

/** Signs any body as the signer would. */
function sign(body: string): string {
  return `${body}.${createHmac("sha256", deriveKey(SECRET, "signed-url")).update(body).digest("base64url")}`;
}

/** Any code points, including lone surrogates. */
const anyText = fc.array(fc.nat(0x10ffff), { maxLength: 12 }).map((codes) => String.fromCodePoint(...codes));

describe("signing", () => {
  test("signed text verifies to the same text", () => {
    fc.assert(
      fc.property(anyText, (value) => {
        fc.pre(value.isWellFormed());
        expect(signer.verify(signer.sign(value))).toBe(value);
      }),
    );
  });

  test("a token is the value and its HMAC-SHA256, both in base64url", () => {
    expect(signer.sign("a b")).toBe(sign("YSBi"));
  });

  test("a token with an expiry carries it in seconds", () => {
    setClock(() => START);
    expect(signer.sign("a b", { expiresInSeconds: 60 })).toBe(sign(`YSBi.${START / 1000 + 60}`));
  });

  test("every token can be used in a URL unchanged", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 1e9 }), (value, expiresInSeconds) => {
        fc.pre(value.isWellFormed());
        const token = signer.sign(value, { expiresInSeconds });
        expect(encodeURIComponent(token)).toBe(token);
      }),
    );
  });

  test("4096 bytes can be signed and verified, one more cannot", () => {
    const value = "é".repeat(2048);
    expect(signer.verify(signer.sign(value, { expiresInSeconds: 1e9 }))).toBe(value);
    expect(() => signer.sign(`${value}a`)).toThrow(expect.objectContaining({ code: "E_INVALID_VALUE" }));
  });

  test("text that is not well-formed is refused, because it would verify to different text", () => {
    expect(() => signer.sign("\ud800")).toThrow(expect.objectContaining({ code: "E_INVALID_VALUE" }));
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_VALUE])(
    "S9 an expiry of %d seconds is refused",
    (expiresInSeconds) => {
      expect(() => signer.sign("a", { expiresInSeconds })).toThrow(
        expect.objectContaining({ code: "E_INVALID_CONFIGURATION" }),
      );
    },
  );

  test("S12 a signer with a weak secret, or a weak previous one, cannot be created", () => {
    expect(() => new Signer("weak", "device")).toThrow(expect.objectContaining({ code: "E_WEAK_SECRET" }));
    expect(() => new Signer(SECRET, "device", { previousSecrets: ["weak"] })).toThrow(
      expect.objectContaining({ code: "E_WEAK_SECRET" }),
    );
  });
});

describe("verifying", () => {
  test("a token is valid until the second it expires in", () => {
    setClock(() => START);
    const token = signer.sign("a", { expiresInSeconds: 60 });
    setClock(() => START + 59_999);
    expect(signer.verify(token)).toBe("a");
    setClock(() => START + 60_000);
    expect(signer.verify(token)).toBeNull();
  });

  test("one second is the shortest lifetime of a token", () => {
    setClock(() => START);
    const token = signer.sign("a", { expiresInSeconds: 1 });
    setClock(() => START + 999);
    expect(signer.verify(token)).toBe("a");
    setClock(() => START + 1000);
    expect(signer.verify(token)).toBeNull();
  });

  test("text as long as a signature, with nothing before it, is refused", () => {
    const signature = signer.sign("a").split(".")[1]!;
    expect(signer.verify(signature)).toBeNull();
    expect(signer.verify(`.${signature}`)).toBeNull();
  });

  test("a token without an expiry never expires", () => {
    const token = signer.sign("a");
    setClock(() => START * 1000);
    expect(signer.verify(token)).toBe("a");
  });

  test("any change to a token makes it invalid", () => {
    const token = signer.sign("value", { expiresInSeconds: 1e6 });
    const change = fc.tuple(fc.nat(token.length - 1), fc.constantFrom(..."AZaz09-_.=+/ \0é"));
    fc.assert(
      fc.property(change, ([at, character]) => {
        fc.pre(token[at] !== character);
        expect(signer.verify(token.slice(0, at) + character + token.slice(at + 1))).toBeNull();
        expect(signer.verify(token.slice(0, at) + character + token.slice(at))).toBeNull();
        expect(signer.verify(token.slice(0, at))).toBeNull();
      }),
      { numRuns: 500 },
    );
  });

  test("no unsigned text verifies, and none makes it throw", () => {
    const garbage = fc.oneof(anyText, fc.stringMatching(/^[\w-]*(\.[\w-]*){1,4}$/));
    fc.assert(
      fc.property(garbage, (token) => {
        expect(signer.verify(token)).toBeNull();
      }),
    );
  });

  test("the value does not verify without its expiry or with another token's", () => {
    const [value, expiry, signature] = signer.sign("a", { expiresInSeconds: 60 }).split(".");
    const other = signer.sign("a", { expiresInSeconds: 6000 }).split(".");
    expect(signer.verify(`${value}.${signature}`)).toBeNull();
    expect(signer.verify(`${value}.${other[1]}.${signature}`)).toBeNull();
    expect(signer.verify(`${value}.${expiry}.${other[2]}`)).toBeNull();
  });

  test.each([
    ["a leading zero in the expiry", `YQ.0${START}`],
    ["an expiry in another notation", "YQ.1e12"],
    ["a negative expiry", "YQ.-1"],
    ["an expiry of 0", "YQ.0"],
    ["an empty expiry", "YQ."],
    ["an endless expiry", `YQ.${"9".repeat(400)}`],
    ["a part too many", `YQ.${START}.${START}`],
    ["padding in the value", "YQ=="],
    ["stray bits in the value", "YR"],
    ["a value that is not UTF-8", "gA"],
  ])("%s is refused even with a valid signature", (_, body) => {
    expect(signer.verify(sign(body))).toBeNull();
  });

  test("a signature in a non-canonical encoding is refused", () => {
    const token = signer.sign("a");
    // The last of the 43 characters contains two bits that decoding drops.
    const last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".indexOf(token.at(-1)!);
    const twin = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[last + 1]!;
    const spelling = token.slice(0, -1) + twin;
    const bytes = (text: string) => Buffer.from(text.slice(text.indexOf(".") + 1), "base64url");
    expect(bytes(spelling)).toEqual(bytes(token));
    expect(signer.verify(spelling)).toBeNull();
    expect(signer.verify(`${token}=`)).toBeNull();
  });

  test("text too large to be a token is refused without computing anything over it", () => {
    const large = `${"A".repeat(64 * 1024 * 1024)}.${"A".repeat(43)}`;
    const time = cpuTimeOf(() => {
      for (let i = 0; i < 100; i++) expect(signer.verify(large)).toBeNull();
    });
    // A hundred HMACs of this much text would take several seconds.
    expect(time).toBeLessThan(1000);
  });
});

describe("rotation", () => {
  const next = generateSecret();

  test("a token signed with a previous secret still verifies, and the first secret signs", () => {
    const rotated = new Signer(next, "signed-url", { previousSecrets: [SECRET] });
    expect(rotated.verify(signer.sign("a"))).toBe("a");
    expect(new Signer(next, "signed-url").verify(rotated.sign("a"))).toBe("a");
    expect(signer.verify(rotated.sign("a"))).toBeNull();
  });

  test("a token signed with a secret that is no longer listed is refused", () => {
    expect(new Signer(next, "signed-url").verify(signer.sign("a"))).toBeNull();
  });
});
