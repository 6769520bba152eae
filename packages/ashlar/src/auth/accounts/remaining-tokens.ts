/**
 * API tokens that stay valid after everything about an account that can be ended has been: no request looks them up in
 * the database, so only time, or a change of configuration for all users, ends them.
 */
export interface RemainingTokens {
  /** How long the last of them can still be used, in minutes; `null`: forever. */
  readonly expiresInMinutes: number | null;
}

/** Tells which API tokens the users of a model keep when their access ends; `null`: none. */
export type RemainingTokensOf = (model: object) => RemainingTokens | null;
