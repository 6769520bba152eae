import { declareErrors, type StatusesOf } from "../support/index.ts";

/** The error codes of this folder, each with its status and a sentence. */
export const AUTH_ERRORS = {
  E_INVALID_CREDENTIALS: [401, "The credentials are not valid."],
  E_STALE_PROOF: [401, "The account has changed in the meantime. Log in again."],
  E_LOGIN_PENDING: [401, "This login needs another step."],
  E_LOGIN_REFUSED: [403, "This login is refused."],
  E_INVALID_LOGIN_STEP: [500, "A step of the login returned no outcome."],
  E_PASSWORD_NOT_CONFIRMED: [403, "Confirm your password to continue."],
  E_INSUFFICIENT_AUTHENTICATION: [401, "This needs a more recent login, or one with another proof."],
  E_INVALID_LINK: [410, "This link has expired or was already used."],
  E_ADDRESS_TAKEN: [409, "Another account uses this address."],
  E_UNKNOWN_GUARD: [500, "No guard has this name."],
  E_UNSUPPORTED_GUARD_OPERATION: [500, "This guard does not support the operation."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof AUTH_ERRORS> {}
}

declareErrors(AUTH_ERRORS);
