import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isScrypt, scryptTags } from "./scrypt.ts";

const SALT = "c29tZXNhbHQ";
const TAG = Buffer.alloc(32, 7).toString("base64").replace("=", "");

function base64(text: string): string {
  return Buffer.from(text).toString("base64").replace(/=+$/, "");
}

function verify(hash: string, plain: string): boolean {
  const [computed, stored] = scryptTags(hash, plain);
  return computed.equals(stored);
}

/** The vector in RFC 7914 §12 with a realistic cost for a login. */
const RFC_TAG =
  "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887";
const RFC_HASH = `$${base64("SodiumChloride")}$${Buffer.from(RFC_TAG, "hex").toString("base64").replace(/=+$/, "")}`;

describe("scryptTags", () => {
  test.each([
    ["with the cost", `$scrypt$n=16384,r=8,p=1${RFC_HASH}`, "pleaseletmein"],
    ["with the logarithm of the cost", `$scrypt$ln=14,r=8,p=1${RFC_HASH}`, "pleaseletmein"],
    [
      "of @adonisjs/hash 10.1.1",
      "$scrypt$n=16384,r=8,p=1$/kX27B58JaGkbgAEKIxLoA$3SRWwBTriMeKAo8euwBgHIzoBSi5sLCWSHECGvX5QdTJ+ycB6hRkEP3UeuhxCq4l1HmXlvYyXo95nOd5iPhP9g",
      "secret password",
    ],
  ])("a hash %s verifies for its password only", (_, hash, plain) => {
    expect(isScrypt(hash)).toBe(true);
    expect(verify(hash, plain)).toBe(true);
    expect(verify(hash, `${plain}x`)).toBe(false);
  });

  test("S31 a password is normalized only if the hash says so", () => {
    const salt = base64("a salt of text");
    const blank = `$${salt}$${TAG}`;
    const [composed, decomposed] = ["caf\u00e9 \ufb01n", "cafe\u0301 fin"];
    const tags = (parameters: string, plain: string) => scryptTags(`$scrypt$${parameters}${blank}`, plain)[0];
    expect(tags("n=16,r=1,p=1,nfkc=1", composed)).toEqual(tags("n=16,r=1,p=1,nfkc=1", decomposed));
    expect(tags("n=16,r=1,p=1", composed)).not.toEqual(tags("n=16,r=1,p=1", decomposed));
    expect(tags("n=16,r=1,p=1,nfkc=1", composed)).toEqual(tags("n=16,r=1,p=1", composed.normalize("NFKC")));
  });

  test("the most memory that is accepted can be used", () => {
    const memory = `$scrypt$n=262144,r=8,p=1$${SALT}$${TAG}`;
    expect(isScrypt(memory)).toBe(true);
    expect(verify(memory, "x")).toBe(false);
  });
});

describe("isScrypt", () => {
  test.each([
    ["256 MiB", "n=262144,r=8,p=1", true],
    ["512 MiB", "n=524288,r=8,p=1", false],
    ["256 MiB in large blocks", "n=16384,r=128,p=1", true],
    ["more than 256 MiB in large blocks", "n=16384,r=129,p=1", false],
    ["a logarithm that stands for 16 GiB", "ln=24,r=8,p=1", false],
    ["four times the recommended work", "n=131072,r=8,p=4", true],
    ["five times the recommended work", "n=131072,r=8,p=5", false],
    ["16 lanes", "n=16384,r=8,p=16", true],
    ["17 lanes", "n=1024,r=8,p=17", false],
    ["a cost that is not a power of two", "n=16383,r=8,p=1", false],
    ["a cost of one", "n=1,r=8,p=1", false],
    ["a cost of two", "n=2,r=8,p=1", true],
    ["the highest cost with one block", "n=32768,r=1,p=1", true],
    ["more than one block allows", "n=65536,r=1,p=1", false],
    ["no blocks", "n=16384,r=0,p=1", false],
    ["no lanes", "n=16384,r=8,p=0", false],
    ["another order", "r=8,n=16384,p=1", false],
    ["both forms of the cost", "n=16384,ln=14,r=8,p=1", false],
    ["an unknown parameter", "n=16384,r=8,p=1,x=1", false],
    ["normalization that is off", "n=16384,r=8,p=1,nfkc=0", false],
  ])("%s: %s", (_, parameters, expected) => {
    expect(isScrypt(`$scrypt$${parameters}$${SALT}$${TAG}`)).toBe(expected);
  });

  test.each(["n=32768,r=1,p=1", "n=2,r=1,p=1", "n=2,r=8,p=16", "ln=15,r=8,p=1,nfkc=1"])(
    "accepted expressions can be evaluated: %s",
    (parameters) => {
      const hash = `$scrypt$${parameters}$${SALT}$${TAG}`;
      expect(isScrypt(hash)).toBe(true);
      const [computed, stored] = scryptTags(hash, "a password");
      expect(computed.length).toBe(stored.length);
    },
  );

  test.each([
    ["a salt of 7 bytes", base64("seven77"), TAG],
    ["a salt of 65 bytes", base64("x".repeat(65)), TAG],
    ["a hash of 15 bytes", SALT, base64("x".repeat(15))],
    ["a hash of 65 bytes", SALT, base64("x".repeat(65))],
    ["padding", SALT, `${TAG}=`],
    ["stray bits", "c29tZXNhbHR", TAG],
    ["another alphabet", SALT, TAG.replace("B", "-")],
  ])("%s is refused", (_, salt, tag) => {
    expect(isScrypt(`$scrypt$n=16384,r=8,p=1$${salt}$${tag}`)).toBe(false);
  });

  test("an accepted hash never costs more than the limits, whatever the text", () => {
    const number = fc.oneof(
      fc.nat(2 ** 31),
      fc.nat(32),
      fc.nat(31).map((exponent) => 2 ** exponent),
    );
    fc.assert(
      fc.property(fc.boolean(), number, number, number, (isLogarithm, n, r, p) => {
        if (!isScrypt(`$scrypt$${isLogarithm ? "ln" : "n"}=${n},r=${r},p=${p}$${SALT}$${TAG}`)) return;
        const cost = isLogarithm ? 2 ** n : n;
        expect(128 * cost * r).toBeLessThanOrEqual(256 * 2 ** 20);
        expect(cost * r * p).toBeLessThanOrEqual(2 ** 22);
      }),
    );
    expect(isScrypt(`$scrypt$n=16384,r=8,p=1$${base64("x".repeat(64))}$${base64("x".repeat(64))}`)).toBe(true);
    expect(isScrypt(`$scrypt$n=16384,r=8,p=1$${"A".repeat(300)}$${TAG}`)).toBe(false);
  });
});
