import { declareErrors, type StatusesOf } from "../support/index.ts";

/** The error codes for sessions, each with its status and a sentence. */
export const SESSION_ERRORS = {
  E_CSRF: [419, "The page has expired."],
  E_SESSION: [500, "The session cannot hold the value, or is not open."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof SESSION_ERRORS> {}
}

declareErrors(SESSION_ERRORS);
