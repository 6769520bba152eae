import {
  VerificationKey,
  type JsonWebKey,
  type JwtAlgorithm,
  verifyJws,
} from "../../src/security/jwt/index.ts";
import { AshlarError } from "../../src/support/index.ts";

/** A JWK from the vectors, or a set of them. */
export type VectorKey = JsonWebKey & { readonly keys?: readonly JsonWebKey[] };

/** One Wycheproof vector of a JWS; in some the token is not compact, or a JWE. */
export interface JwsVector {
  readonly tcId: number;
  readonly comment: string;
  readonly jws?: unknown;
  readonly jwe?: unknown;
  readonly result: "valid" | "invalid";
}

/** One group of them, with the keys. */
export interface JwsGroup {
  readonly comment?: string;
  readonly private: VectorKey;
  readonly public?: VectorKey;
  readonly tests: readonly JwsVector[];
}

/** A file of them. */
export interface JwsVectorFile {
  readonly numberOfTests: number;
  readonly testGroups: readonly JwsGroup[];
}

/** The result of a vector: `valid`, or the code and reason of the error. */
export function outcome(group: JwsGroup, token: unknown): string {
  try {
    verifyJws(token as string, prepare(group.public ?? group.private, token));
    return "valid";
  } catch (error) {
    // Anything else is a crash, not a refusal.
    if (!(error instanceof AshlarError)) throw error;
    return "reason" in error ? `${error.code} ${String(error.reason)}` : error.code;
  }
}

function prepare(key: VectorKey, token: unknown): VerificationKey[] {
  return (key.keys ?? [key]).map((jwk) =>
    new VerificationKey((jwk.alg ?? headerAlgorithm(token)) as JwtAlgorithm, jwk),
  );
}

/** For the few keys without an algorithm: the algorithm that a careless application would use. */
function headerAlgorithm(token: unknown): unknown {
  return JSON.parse(Buffer.from(String(token).split(".")[0] ?? "", "base64url").toString()).alg;
}
