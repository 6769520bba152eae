import { declareErrors, type StatusesOf } from "../support/index.ts";

/** The error codes of this folder, each with its status and a sentence. */
export const IDENTITY_ERRORS = {
  E_IDENTITY_REFUSED: [403, "The other site did not confirm who you are. Try again."],
  E_IDENTITY_PROVIDER_DOWN: [503, "The other site can't be reached at the moment. Try again later."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof IDENTITY_ERRORS> {}
}

declareErrors(IDENTITY_ERRORS);
