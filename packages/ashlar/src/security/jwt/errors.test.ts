import { expect, test } from "vitest";
import { AshlarError, type ErrorCode } from "../../support/index.ts";
import "./errors.ts";

test.each<[ErrorCode, number, string]>([
  ["E_JWT_KEY", 500, "The key does not fit the algorithm."],
  ["E_JWT_ALGORITHM", 500, "The algorithm is not supported."],
  ["E_JWT_CLAIMS", 500, "The claims of the token to sign are not valid."],
  ["E_JWT_INVALID", 401, "The token is not valid."],
])("%s has the status %i and a sentence", (code, status, message) => {
  expect(new AshlarError(code)).toMatchObject({ code, status, message });
});
