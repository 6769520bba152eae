import { expect, test } from "vitest";
import { algorithmDetails } from "./algorithms.ts";

test("fifteen algorithms are supported, each with its parameters", () => {
  const names = "HS256 HS384 HS512 RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519 Ed448".split(
    " ",
  );
  expect(Object.fromEntries(names.map((name) => [name, algorithmDetails(name)]))).toEqual({
    HS256: { family: "hmac", hash: "sha256", hashBytes: 32, blockBytes: 64 },
    HS384: { family: "hmac", hash: "sha384", hashBytes: 48, blockBytes: 128 },
    HS512: { family: "hmac", hash: "sha512", hashBytes: 64, blockBytes: 128 },
    RS256: { family: "rsa", hash: "sha256", hashBytes: 32, scheme: "pkcs1" },
    RS384: { family: "rsa", hash: "sha384", hashBytes: 48, scheme: "pkcs1" },
    RS512: { family: "rsa", hash: "sha512", hashBytes: 64, scheme: "pkcs1" },
    PS256: { family: "rsa", hash: "sha256", hashBytes: 32, scheme: "pss" },
    PS384: { family: "rsa", hash: "sha384", hashBytes: 48, scheme: "pss" },
    PS512: { family: "rsa", hash: "sha512", hashBytes: 64, scheme: "pss" },
    ES256: { family: "ecdsa", hash: "sha256", curve: "prime256v1" },
    ES384: { family: "ecdsa", hash: "sha384", curve: "secp384r1" },
    ES512: { family: "ecdsa", hash: "sha512", curve: "secp521r1" },
    EdDSA: { family: "eddsa", curves: ["ed25519", "ed448"] },
    Ed25519: { family: "eddsa", curves: ["ed25519"] },
    Ed448: { family: "eddsa", curves: ["ed448"] },
  });
});

test.each([
  "none",
  "NONE",
  "None",
  "nOnE",
  "",
  "hs256",
  "HS1",
  "ES521",
  "ES256K",
  "__proto__",
  "constructor",
  "toString",
])("S1 the algorithm %j cannot be configured", (name) => {
  expect(() => algorithmDetails(name)).toThrow(expect.objectContaining({ code: "E_JWT_ALGORITHM" }));
});

test("S1 a value that is not text cannot be configured as an algorithm", () => {
  for (const name of [null, undefined, 256, {}, ["HS256"]]) {
    expect(() => algorithmDetails(name as unknown as string)).toThrow(
      expect.objectContaining({ code: "E_JWT_ALGORITHM" }),
    );
  }
});

test("the message about a typo suggests the intended algorithm", () => {
  expect(() => algorithmDetails("HS521")).toThrow(/"HS521" is not supported\. Did you mean .*"HS512"/);
});
