import { hashSync } from "bcryptjs";
import { describe, expect, test } from "vitest";
import { isVerifiableHash, unknownHash } from "./verifiable-hashes.ts";

const SALT_AND_TAG = "c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA";

describe("isVerifiableHash", () => {
  test.each([
    ["argon2id", `$argon2id$v=19$m=65536,t=3,p=4$${SALT_AND_TAG}`, true],
    ["argon2 beyond the limits", `$argon2id$v=19$m=999999,t=3,p=4$${SALT_AND_TAG}`, false],
    ["bcrypt", hashSync("x", 4), true],
    ["scrypt", `$scrypt$ln=14,r=8,p=1$${SALT_AND_TAG}`, true],
    ["PBKDF2", `$pbkdf2-sha256$i=310000$${SALT_AND_TAG}`, true],
    ["MD5", "5f4dcc3b5aa765d61d8327deb882cf99", false],
    ["a disabled password", "!", false],
    ["no text", "", false],
  ])("%s", (_, hash, expected) => {
    expect(isVerifiableHash(hash)).toBe(expected);
  });
});

describe("unknownHash", () => {
  test.each([
    "$2y$12$",
    "$argon2id$v=19$m=65536,t=4,p=1$",
    "$scrypt$n=16384,r=16,p=1,nfkc=1$",
    "$pbkdf2-sha256$i=310000$",
  ])("S32 %s becomes a hash that can be verified, another one each time", (beginning) => {
    const hash = unknownHash(beginning);
    expect(hash?.startsWith(beginning)).toBe(true);
    expect(isVerifiableHash(hash!)).toBe(true);
    expect(unknownHash(beginning)).not.toBe(hash);
  });

  test.each(["", "$2y$", "$2y$15$", "$md5$", hashSync("x", 4), `$scrypt$ln=14,r=8,p=1$${SALT_AND_TAG}`])(
    "%s is not the beginning of one",
    (beginning) => {
      expect(unknownHash(beginning)).toBeNull();
    },
  );
});
