import { AshlarError } from "../../support/index.ts";

/** Why a token was refused. For logs and events, never for the caller. */
export type JwtFailure =
  | "too_large"
  | "malformed"
  | "critical_header"
  | "algorithm"
  | "signature"
  | "type"
  | "claims"
  | "subject"
  | "issuer"
  | "audience"
  | "not_yet_valid"
  | "expired";

/**
 * A token was refused (`E_JWT_INVALID`, 401).
 *
 * The message is the same for every reason and contains nothing of the token, so that a caller learns only that the
 * token is not valid.
 */
export class JwtError extends AshlarError {
  /** The check that refused the token. Security: belongs in logs and events, not in a response. */
  readonly reason: JwtFailure;

  /** @param reason the check that refused the token */
  constructor(reason: JwtFailure) {
    super("E_JWT_INVALID");
    this.reason = reason;
  }
}
