import { describe, expect, test } from "vitest";
import { isPbkdf2, pbkdf2Tags } from "./pbkdf2.ts";

const SALT = "c29tZXNhbHQ";
const TAG = Buffer.alloc(32, 7).toString("base64").replace("=", "");

function base64(bytes: Buffer | string): string {
  return Buffer.from(bytes).toString("base64").replace(/=+$/, "");
}

describe("pbkdf2Tags", () => {
  test.each([
    [
      "RFC 6070, SHA-1",
      { digest: "sha1", iterations: 4096, salt: "saltSALTsaltSALTsaltSALTsaltSALTsalt" },
      "passwordPASSWORDpassword",
      "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038",
    ],
    [
      "PHP, SHA-256",
      { digest: "sha256", iterations: 310_000, salt: "somesalt of text" },
      "letmein",
      "f5fd5a8c5e5ce87f76400f20ea1b81e6d16358195ff747c6b5dd9f257516390a",
    ],
    [
      "PHP, SHA-512",
      { digest: "sha512", iterations: 25_000, salt: "somesalt of text" },
      "пароль🦀",
      "04fe5e6cfdff08579da2e20eb3f89421317bb026846a3b160acb10e5014e3979df598a44c4286f8de14f9f6347010f3a69fa1538cd4721a6953436f48eaf09b4",
    ],
  ])("a hash of %s verifies for its password only", (_, { digest, iterations, salt }, plain, tag) => {
    const hash = `$pbkdf2-${digest}$i=${iterations}$${base64(salt)}$${base64(Buffer.from(tag, "hex"))}`;
    expect(isPbkdf2(hash)).toBe(true);
    const [computed, stored] = pbkdf2Tags(hash, plain);
    expect(computed).toEqual(stored);
    expect(pbkdf2Tags(hash, `${plain}x`)[0]).not.toEqual(stored);
  });
});

describe("isPbkdf2", () => {
  test.each([
    ["the most iterations", "sha512", "i=2000000", true],
    ["one more", "sha512", "i=2000001", false],
    ["iterations for days", "sha256", "i=9999999999", false],
    ["no iterations", "sha256", "i=0", false],
    ["one iteration", "sha256", "i=1", true],
    ["iterations without their name", "sha256", "310000", false],
    ["MD5", "md5", "i=310000", false],
    ["another spelling", "SHA256", "i=310000", false],
  ])("%s: %s, %s", (_, digest, iterations, expected) => {
    expect(isPbkdf2(`$pbkdf2-${digest}$${iterations}$${SALT}$${TAG}`)).toBe(expected);
  });

  test.each([
    ["a salt of 7 bytes", base64("seven77"), TAG],
    ["a hash of 15 bytes", SALT, base64("x".repeat(15))],
    ["a hash of 65 bytes", SALT, base64("x".repeat(65))],
    ["padding", SALT, `${TAG}=`],
    ["a text of any length", "A".repeat(300), TAG],
  ])("%s is refused", (_, salt, tag) => {
    expect(isPbkdf2(`$pbkdf2-sha256$i=1000$${salt}$${tag}`)).toBe(false);
  });
});
