import { describe, expect, test } from "vitest";
import { algorithmDetails, type JwtAlgorithm } from "../../src/security/jwt/algorithms.ts";
import { Hmac } from "../../src/security/jwt/hmac.ts";
import { SigningKey, VerificationKey, signJws, verifyJws } from "../../src/security/jwt/index.ts";
import { readVectors } from "./read-vectors.ts";

interface HmacFile {
  readonly numberOfTests: number;
  readonly testGroups: readonly {
    /** In bits. */
    readonly keySize: number;
    readonly tagSize: number;
    readonly tests: readonly {
      readonly tcId: number;
      readonly key: string;
      readonly msg: string;
      readonly tag: string;
      readonly result: "valid" | "invalid";
    }[];
  }[];
}

describe.each<[JwtAlgorithm, string, number]>([
  ["HS256", "hmac_sha256_test.json", 256],
  ["HS384", "hmac_sha384_test.json", 384],
  ["HS512", "hmac_sha512_test.json", 512],
])("Wycheproof HMAC for %s", (algorithm, name, hashBits) => {
  const file = readVectors<HmacFile>(`wycheproof/${name}`);
  const details = algorithmDetails(algorithm);
  if (details.family !== "hmac") throw new Error(`${algorithm} is no HMAC`);
  const vectors = file.testGroups.flatMap(({ tagSize, tests }) =>
    tests.map((vector) => ({
      ...vector,
      tagSize,
      key: Buffer.from(vector.key, "hex"),
      msg: Buffer.from(vector.msg, "hex"),
      tag: Buffer.from(vector.tag, "hex"),
    })),
  );

  test("the codes of all 174 messages are valid or invalid, as labeled", () => {
    expect([file.numberOfTests, vectors.length]).toEqual([174, 174]);
    const found = vectors.map(({ tcId, key, msg, tag, tagSize }) => {
      const code = Buffer.from(new Hmac(details, key).compute(msg), "base64url");
      expect(code).toHaveLength(hashBits / 8);
      return { tcId, result: code.subarray(0, tagSize / 8).equals(tag) ? "valid" : "invalid" };
    });
    expect(found).toEqual(vectors.map(({ tcId, result }) => ({ tcId, result })));
    expect(found.filter(({ result }) => result === "valid")).toHaveLength(66);
  });

  test("S2 keys shorter than the hash are refused, and all others sign and verify", () => {
    const refused = vectors.filter(({ key, msg }) => {
      if (key.length < hashBits / 8) {
        for (const Key of [SigningKey, VerificationKey]) {
          expect(() => new Key(algorithm, key)).toThrow(expect.objectContaining({ code: "E_WEAK_SECRET" }));
        }
        return true;
      }
      const token = signJws(msg, new SigningKey(algorithm, key));
      expect(Buffer.from(verifyJws(token, new VerificationKey(algorithm, key)).payload)).toEqual(msg);
      return false;
    });
    // Three keys of half the hash's length with a complete code, three with half a code; for HS512, 520 bits are long
    // enough.
    expect(refused).toHaveLength(6);
  });

  test("a truncated code, as in half of the vectors, is never accepted in a token", () => {
    const cut = vectors.filter(({ key, tagSize }) => key.length >= hashBits / 8 && tagSize < hashBits);
    expect(cut).toHaveLength(84);
    for (const { key, msg, tagSize } of cut) {
      const token = signJws(msg, new SigningKey(algorithm, key));
      const dot = token.lastIndexOf(".") + 1;
      const code = Buffer.from(token.slice(dot), "base64url").subarray(0, tagSize / 8);
      expect(() =>
        verifyJws(token.slice(0, dot) + code.toString("base64url"), new VerificationKey(algorithm, key)),
      ).toThrow(expect.objectContaining({ reason: "signature" }));
    }
  });
});
