import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { setClock } from "../support/index.ts";
import { KeyPurpose } from "./keys.ts";
import { Sealer } from "./sealer.ts";
import { generateSecret } from "./secrets.ts";

const SECRET = generateSecret();
const sealer = new Sealer(SECRET, "device");
const START = Date.UTC(2026, 0, 1);

afterEach(() => setClock(null));

/** Any code points, including lone surrogates. */
const anyText = fc.array(fc.nat(0x10ffff), { maxLength: 12 }).map((codes) => String.fromCodePoint(...codes));

describe("sealing", () => {
  test("S23 a sealed text opens to the same text", () => {
    fc.assert(
      fc.property(anyText, fc.string(), (value, name) => {
        fc.pre(value.isWellFormed());
        expect(sealer.open(name, sealer.seal(name, value), 60)).toBe(value);
      }),
    );
  });

  test("S23 a sealed value reveals neither the value nor that two values are equal", () => {
    const sealed = Array.from({ length: 100 }, () => sealer.seal("name", "secret value"));
    expect(new Set(sealed).size).toBe(100);
    expect(Buffer.from(sealed[0]!, "base64url").includes("secret")).toBe(false);
    expect(sealed[0]).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  test("a value of 3000 bytes fits a cookie", () => {
    expect(sealer.seal("name", "x".repeat(3000)).length).toBeLessThan(4096);
  });

  test("8192 bytes can be sealed and opened, one more cannot", () => {
    const value = "é".repeat(4096);
    expect(sealer.open("name", sealer.seal("name", value), 60)).toBe(value);
    expect(() => sealer.seal("name", `${value}a`)).toThrow(expect.objectContaining({ code: "E_INVALID_VALUE" }));
  });

  test("text that is not well-formed is refused, because it would open as different text", () => {
    expect(() => sealer.seal("name", "\udc00")).toThrow(expect.objectContaining({ code: "E_INVALID_VALUE" }));
  });

  test("S12 a sealer with a weak secret cannot be made", () => {
    expect(() => new Sealer("weak", "device")).toThrow(expect.objectContaining({ code: "E_WEAK_SECRET" }));
  });
});

describe("opening", () => {
  test("S23 a value opens only under its own name", () => {
    const sealed = sealer.seal("cart", "1");
    expect(sealer.open("cart", sealed, 60)).toBe("1");
    for (const name of ["", "car", "carts", "Cart", "cart\0", "cookie\0cart"]) {
      expect(sealer.open(name, sealed, 60)).toBeNull();
    }
  });

  test("a value sealed before an upgrade opens after it", () => {
    setClock(() => START);
    const sealed = "tORJvWGkT1mgJz38unHkCh3pN0PhPO8VdquM_Bk8B9-SKXKq3kJLOrcvX_dSA_yJnlOBJag";
    expect(new Sealer("correct horse battery staple wow", new KeyPurpose("device")).open("name", sealed, 1)).toBe(
      "Grüße",
    );
  });

  test("S23 a value opens until it is as old as the limit", () => {
    setClock(() => START);
    const sealed = sealer.seal("name", "1");
    setClock(() => START + 59_999);
    expect(sealer.open("name", sealed, 60)).toBe("1");
    setClock(() => START + 60_000);
    expect(sealer.open("name", sealed, 60)).toBeNull();
    expect(sealer.open("name", sealed, 61)).toBe("1");
  });

  test("S23 a value from the future opens within a minute of skew", () => {
    setClock(() => START);
    const sealed = sealer.seal("name", "1");
    setClock(() => START - 60_000);
    expect(sealer.open("name", sealed, 60)).toBe("1");
    setClock(() => START - 60_001);
    expect(sealer.open("name", sealed, 60)).toBeNull();
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("S9 an age limit of %d is refused", (seconds) => {
    expect(() => sealer.open("name", sealer.seal("name", "1"), seconds)).toThrow(
      expect.objectContaining({ code: "E_INVALID_CONFIGURATION" }),
    );
  });

  test("S23 no bit of a sealed value can be changed", () => {
    const bytes = Buffer.from(sealer.seal("name", "value"), "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(sealer.open("name", changed.toString("base64url"), 60)).toBeNull();
    }
  });

  test("S23 a sealed value that is shortened or extended does not open", () => {
    const sealed = sealer.seal("name", "value");
    for (let length = 0; length < sealed.length; length++) {
      expect(sealer.open("name", sealed.slice(0, length), 60)).toBeNull();
    }
    for (const tail of ["A", "AAAA", "=", ".", "\n", " "]) expect(sealer.open("name", sealed + tail, 60)).toBeNull();
  });

  test("S23 a value that was never sealed does not open", () => {
    const garbage = fc.oneof(
      anyText,
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64url")),
    );
    fc.assert(
      fc.property(garbage, (text) => {
        expect(sealer.open("name", text, 60)).toBeNull();
      }),
    );
    expect(sealer.open("name", "A".repeat(20_000), 60)).toBeNull();
  });

  test("S23 a sealed value in a non-canonical encoding does not open", () => {
    const sealed = sealer.seal("name", "12");
    const bytes = Buffer.from(sealed, "base64url");
    for (const spelling of [`${sealed}=`, `${sealed}\n`, ` ${sealed}`, `${sealed.slice(0, 9)}.${sealed.slice(9)}`]) {
      // The platform's decoder accepts all of these.
      expect(Buffer.from(spelling, "base64url")).toEqual(bytes);
      expect(sealer.open("name", spelling, 60)).toBeNull();
    }
  });
});

describe("rotation", () => {
  const next = generateSecret();

  test("a value sealed with a previous secret still opens, and the first secret seals", () => {
    const rotated = new Sealer(next, "device", { previousSecrets: [SECRET] });
    expect(rotated.open("name", sealer.seal("name", "1"), 60)).toBe("1");
    expect(new Sealer(next, "device").open("name", rotated.seal("name", "1"), 60)).toBe("1");
    expect(sealer.open("name", rotated.seal("name", "1"), 60)).toBeNull();
  });

  test("a value sealed with a secret that is no longer listed does not open", () => {
    expect(new Sealer(next, "device").open("name", sealer.seal("name", "1"), 60)).toBeNull();
  });
});
