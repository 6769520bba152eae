import { declareErrors, type StatusesOf } from "../support/index.ts";

/** The error codes for mails, each with its status and a sentence. */
export const MAIL_ERRORS = {
  E_INVALID_MAIL: [500, "The mail cannot be composed: its addresses, subject or content are invalid."],
  E_MAIL_NOT_SENT: [503, "The mail could not be sent; try again in a moment."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof MAIL_ERRORS> {}
}

declareErrors(MAIL_ERRORS);
