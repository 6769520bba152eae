import { declareErrors, type StatusesOf } from "../support/index.ts";

/** The error codes of this folder, each with its status and a sentence. */
export const API_ERRORS = {
  E_CONFLICTING_TOKENS: [400, "The request carries two different tokens."],
  E_INVALID_TOKEN: [401, "The token is not valid."],
  E_INSUFFICIENT_SCOPE: [403, "The token may not be used for this."],
  E_ISSUER_UNAVAILABLE: [503, "The token cannot be verified at the moment."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof API_ERRORS> {}
}

declareErrors(API_ERRORS);
