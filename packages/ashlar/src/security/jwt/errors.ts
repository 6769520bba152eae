import { AshlarError, declareErrors, type StatusesOf } from "../../support/index.ts";

const CODES = {
  E_JWT_KEY: [500, "The key does not fit the algorithm."],
  E_JWT_ALGORITHM: [500, "The algorithm is not supported."],
  E_JWT_CLAIMS: [500, "The claims of the token to sign are not valid."],
  E_JWT_INVALID: [401, "The token is not valid."],
} as const;

declare module "../../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);

/**
 * Thrown if a token is refused (`E_JWT_INVALID`, 401).
 *
 * The message is the same for every reason, and contains nothing from the token. A client learns only that the token is
 * not valid.
 */
export class JwtError extends AshlarError {
  /** The check that refused the token. Security: belongs in logs and events, not in a response. */
  readonly reason:
    | "too_large"
    | "malformed"
    | "critical_header"
    | "algorithm"
    | "unknown_key"
    | "signature"
    | "type"
    | "claims"
    | "subject"
    | "issuer"
    | "audience"
    | "not_yet_valid"
    | "expired";

  /** @param reason the check that refused the token */
  constructor(reason: JwtFailure) {
    super("E_JWT_INVALID");
    this.reason = reason;
  }
}

/** Why a token was refused. For logs and events, never for the client. */
export type JwtFailure = JwtError["reason"];
