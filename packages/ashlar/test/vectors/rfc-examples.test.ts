import { expect, test } from "vitest";
import {
  VerificationKey,
  type JsonWebKey,
  type JwtAlgorithm,
  tryVerifyJwt,
  verifyJws,
} from "../../src/security/jwt/index.ts";
import { readVectors } from "./read-vectors.ts";

interface Examples {
  readonly tests: readonly {
    readonly id: string;
    readonly alg: JwtAlgorithm;
    readonly key: JsonWebKey;
    readonly token: string;
    readonly claims?: Record<string, unknown>;
    readonly clock: number;
  }[];
}

test("the examples in RFC 7515 and RFC 7519 have the results given there", () => {
  const { tests } = readVectors<Examples>("rfc7515-7519-examples.json");
  const found = tests.map(({ id, alg, key, token, clock }) => [
    id,
    tryVerifyJwt(token, new VerificationKey(alg, key), { clock: () => clock }),
  ]);
  expect(Object.fromEntries(found)).toEqual({
    "rfc7515-A.1": { claims: { iss: "joe", exp: 1300819380, "http://example.com/is_root": true } },
    "rfc7515-A.1-expired": { failure: "expired" },
    "rfc7519-6.1-unsecured": { failure: "algorithm" },
  });
  expect(tests[0]?.claims).toEqual({ iss: "joe", exp: 1300819380, "http://example.com/is_root": true });
});

test("RFC 7515 A.1 is a JWS whose header contains line breaks", () => {
  const { tests } = readVectors<Examples>("rfc7515-7519-examples.json");
  const first = tests[0];
  if (first === undefined) throw new Error("the file is empty");
  const verified = verifyJws(first.token, new VerificationKey(first.alg, first.key));
  expect(verified.header).toEqual({ typ: "JWT", alg: "HS256" });
  expect(Buffer.from(verified.payload).toString()).toBe(
    '{"iss":"joe",\r\n "exp":1300819380,\r\n "http://example.com/is_root":true}',
  );
});
