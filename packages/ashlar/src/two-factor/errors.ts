import { declareErrors, type StatusesOf } from "../support/index.ts";

/** The error codes of this folder, each with its status and a sentence. */
export const TWO_FACTOR_ERRORS = {
  E_TWO_FACTOR_REQUIRED: [403, "Log in with your second factor to continue."],
  E_TWO_FACTOR_SETUP_REQUIRED: [403, "Set up two-factor authentication to continue."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof TWO_FACTOR_ERRORS> {}
}

declareErrors(TWO_FACTOR_ERRORS);
