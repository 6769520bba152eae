import { describe, expect, test } from "vitest";
import { type JwsVectorFile, outcome } from "./jws-vectors.ts";
import { readVectors } from "./read-vectors.ts";

/**
 * Vectors whose labels are wrong. The tests assert what is right:
 *
 * - 346, 350: RFC 7520 figure 20, a PS384 token, labelled valid for a key whose `alg` is PS256. An algorithm other than
 *   the key's is refused, by the set's own rule (WrongPrimitive).
 * - 347, 351: RFC 7520 figure 27, labelled valid for a key whose `alg` is ES521. That algorithm does not exist; the
 *   token's is ES512.
 * - 367, 370: labelled invalid for their padding, but the padding is missing in the file: both are, byte for byte, the
 *   token that vector 357 labels valid.
 * - 372, 373: labelled valid with a question mark inside the header or the payload, which is not a base64url character.
 *   360 to 366 and 371 label similar tokens invalid.
 */
const MISLABELLED: Readonly<Record<number, string>> = {
  346: "E_JWT_INVALID algorithm",
  347: "E_JWT_ALGORITHM",
  350: "E_JWT_INVALID algorithm",
  351: "E_JWT_ALGORITHM",
  367: "valid",
  370: "valid",
  372: "E_JWT_INVALID malformed",
  373: "E_JWT_INVALID signature",
};

describe("Wycheproof json_web_signature", () => {
  const file = readVectors<JwsVectorFile>("wycheproof/json_web_signature_test.json");
  const vectors = file.testGroups.flatMap((group) => group.tests.map((vector) => ({ group, vector })));
  const sound = vectors.filter(({ vector }) => !(vector.tcId in MISLABELLED));

  test("all 401 vectors exist, and 393 of them are labeled correctly", () => {
    expect(file.numberOfTests).toBe(401);
    expect(vectors.map(({ vector }) => vector.tcId)).toEqual(Array.from({ length: 401 }, (_, index) => index + 1));
    expect(sound).toHaveLength(393);
    expect(sound.filter(({ vector }) => vector.result === "valid")).toHaveLength(40);
  });

  test.each(sound.map(({ group, vector }) => [vector.tcId, vector.result, vector.comment, group, vector] as const))(
    "%i is %s: %s",
    (_, result, __, group, vector) => {
      const found = outcome(group, vector.jws);
      if (result === "valid") expect(found).toBe("valid");
      else expect(found).toMatch(/^E_JWT_(INVALID|KEY|ALGORITHM)/);
    },
  );

  test("the eight mislabeled vectors have the right results", () => {
    const found = vectors
      .filter(({ vector }) => vector.tcId in MISLABELLED)
      .map(({ group, vector }) => [vector.tcId, outcome(group, vector.jws)]);
    expect(Object.fromEntries(found)).toEqual(MISLABELLED);
  });

  test("346, 347, 350 and 351 are valid for the same keys with the algorithm in the token", () => {
    const found = vectors
      .filter(({ vector }) => [346, 347, 350, 351].includes(vector.tcId))
      .map(({ group, vector }) => {
        const { alg, ...key } = group.public ?? group.private;
        const name = alg === "PS256" ? "PS384" : "ES512";
        return [vector.tcId, alg, outcome({ ...group, public: { ...key, alg: name } }, vector.jws)];
      });
    expect(found).toEqual([
      [346, "PS256", "valid"],
      [347, "ES521", "valid"],
      [350, "PS256", "valid"],
      [351, "ES521", "valid"],
    ]);
  });

  test("372 and 373 are the token of 357 with a question mark in it", () => {
    const token = (tcId: number) => String(vectors.find(({ vector }) => vector.tcId === tcId)?.vector.jws);
    expect(token(372).replace("?", "")).toBe(token(357));
    expect(token(373).replace("?", "")).toBe(token(357));
  });

  test("367 and 370 are the token of 357", () => {
    const token = (tcId: number) => vectors.find(({ vector }) => vector.tcId === tcId)?.vector.jws;
    expect(token(367)).toBe(token(357));
    expect(token(370)).toBe(token(357));
  });
});
