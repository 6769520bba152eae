import { parseOptions } from "@node-rs/argon2";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { type Argon2Hash, type Argon2Variant, formatPhc, parsePhc } from "./argon2-hash.ts";

const SALT = "c29tZXNhbHQ";
const TAG = "wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA";

function phc(parameters: string, { variant = "argon2id", version = "v=19", salt = SALT, tag = TAG } = {}): string {
  return `$${variant}$${version}$${parameters}$${salt}$${tag}`;
}

const bytes = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((array) => Buffer.from(array));

const hashes: fc.Arbitrary<Argon2Hash> = fc
  .record({
    variant: fc.constantFrom<Argon2Variant[]>("argon2d", "argon2i", "argon2id"),
    memory: fc.integer({ min: 128, max: 262_144 }),
    passes: fc.integer({ min: 1, max: 16 }),
    parallelism: fc.integer({ min: 1, max: 16 }),
    salt: bytes(8, 64),
    tag: bytes(16, 64),
  })
  .map(({ salt, tag, ...costs }) => ({ parameters: { ...costs, tagBytes: tag.length }, salt, tag }));

describe("PHC strings", () => {
  test("a hash is written as the reference implementation writes it", () => {
    const hash: Argon2Hash = {
      parameters: { variant: "argon2id", memory: 19_456, passes: 2, parallelism: 1, tagBytes: 32 },
      salt: Buffer.from("somesalt"),
      tag: Buffer.from("c1628832147d9720c5bd1cfd61367078729f6dfb6f8fea9ff98158e0d7816ed0", "hex"),
    };
    expect(formatPhc(hash)).toBe(`$argon2id$v=19$m=19456,t=2,p=1$${SALT}$${TAG}`);
    expect(parsePhc(formatPhc(hash))).toEqual(hash);
  });

  test("every written hash is read back, even by the package", () => {
    fc.assert(
      fc.property(hashes, (hash) => {
        expect(parsePhc(formatPhc(hash))).toEqual(hash);
        expect(parseOptions(formatPhc(hash))).toMatchObject({
          memoryCost: hash.parameters.memory,
          timeCost: hash.parameters.passes,
          parallelism: hash.parameters.parallelism,
          outputLen: hash.tag.length,
          saltLen: hash.salt.length,
        });
      }),
    );
  });

  test("every parsed hash is written back unchanged", () => {
    const text = fc
      .tuple(hashes, fc.nat(200), fc.constantFrom(..."$=,0129mtpvA+/- \n"))
      .map(([hash, at, character]) => {
        const written = formatPhc(hash);
        return written.slice(0, at) + character + written.slice(at + 1);
      });
    let read = 0;
    fc.assert(
      fc.property(text, (changed) => {
        const hash = parsePhc(changed);
        if (hash !== null) read++;
        expect(hash === null ? changed : formatPhc(hash)).toBe(changed);
      }),
    );
    expect(read).toBeGreaterThan(0);
  });

  test("base64 is accepted only in its canonical encoding", () => {
    const text = fc
      .array(fc.constantFrom(..."ABCDQRghwxyz0189+/"), { minLength: 20, maxLength: 90 })
      .map((characters) => characters.join(""));
    fc.assert(
      fc.property(text, (tag) => {
        const decoded = Buffer.from(tag, "base64");
        const isCanonical = decoded.toString("base64").replaceAll("=", "") === tag;
        const readable = isCanonical && decoded.length >= 16 && decoded.length <= 64;
        expect(parsePhc(phc("m=19456,t=2,p=1", { tag }))?.tag).toEqual(readable ? decoded : undefined);
      }),
    );
  });

  test.each([
    ["the empty text", ""],
    ["a password in the clear", "correct horse battery staple"],
    ["bcrypt", "$2b$10$JQLFttTuoblj5q7NmkNkOeCzkdaL5yiutPn3fjNcg3COclS6.sb2O"],
    ["another function", phc("m=19456,t=2,p=1", { variant: "scrypt" })],
    ["upper case", phc("m=19456,t=2,p=1", { variant: "Argon2id" })],
    ["version 1.0", phc("m=19456,t=2,p=1", { version: "v=16" })],
    ["no version", `$argon2id$m=19456,t=2,p=1$${SALT}$${TAG}`],
    ["another order", phc("t=2,m=19456,p=1")],
    ["a parameter too many", phc("m=19456,t=2,p=1,keyid=a")],
    ["a parameter too few", phc("m=19456,t=2")],
    ["a leading zero", phc("m=019456,t=2,p=1")],
    ["a sign", phc("m=+19456,t=2,p=1")],
    ["an exponent", phc("m=19e3,t=2,p=1")],
    ["no passes", phc("m=19456,t=0,p=1")],
    ["no lanes", phc("m=19456,t=2,p=0")],
    ["less than 8 KiB for a lane", phc("m=31,t=2,p=4")],
    ["padding", phc("m=19456,t=2,p=1", { salt: `${SALT}=` })],
    ["stray bits in the salt", phc("m=19456,t=2,p=1", { salt: "c29tZXNhbHR" })],
    ["base64url", phc("m=19456,t=2,p=1", { tag: TAG.replaceAll("+", "-") })],
    ["a salt of 7 bytes", phc("m=19456,t=2,p=1", { salt: "c29tZXNhbA" })],
    ["a salt of 65 bytes", phc("m=19456,t=2,p=1", { salt: Buffer.alloc(65).toString("base64").replace(/=+$/, "") })],
    ["a tag of 15 bytes", phc("m=19456,t=2,p=1", { tag: "A".repeat(20) })],
    ["a tag of 65 bytes", phc("m=19456,t=2,p=1", { tag: "A".repeat(87) })],
    ["no tag", `$argon2id$v=19$m=19456,t=2,p=1$${SALT}`],
    ["a line feed at the end", `${phc("m=19456,t=2,p=1")}\n`],
    ["something after it", `${phc("m=19456,t=2,p=1")}$`],
    ["something before it", ` ${phc("m=19456,t=2,p=1")}`],
  ])("%s is refused", (_, text) => {
    expect(parsePhc(text)).toBeNull();
  });

  test.each([
    ["256 MiB", "m=262144,t=1,p=1", "m=262145,t=1,p=1"],
    ["16 passes", "m=19456,t=16,p=1", "m=19456,t=17,p=1"],
    ["8 KiB for each lane", "m=32,t=2,p=4", "m=32,t=2,p=5"],
    ["16 lanes", "m=19456,t=2,p=16", "m=19456,t=2,p=17"],
    ["the largest numbers of each", "m=262144,t=16,p=16", "m=4294967295,t=4294967295,p=255"],
  ])("%s is accepted, and more is not", (_, most, more) => {
    expect(formatPhc(parsePhc(phc(most))!)).toBe(phc(most));
    expect(parsePhc(phc(more))).toBeNull();
  });

  test("a salt and a tag of 64 bytes are read", () => {
    const longest = Buffer.alloc(64).toString("base64").replace(/=+$/, "");
    expect(parsePhc(phc("m=19456,t=2,p=1", { salt: longest, tag: longest }))).toMatchObject({
      salt: Buffer.alloc(64),
      tag: Buffer.alloc(64),
    });
  });

  test("long text is refused quickly", () => {
    const long = phc("m=19456,t=2,p=1", { salt: "A".repeat(10_000_000) });
    const time = cpuTimeOf(() => {
      for (let i = 0; i < 1000; i++) expect(parsePhc(long)).toBeNull();
    });
    // Parsing it completely a thousand times would take many seconds.
    expect(time).toBeLessThan(1000);
  });
});
