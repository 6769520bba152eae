import { declareErrors, type StatusesOf } from "../support/index.ts";

const CODES = {
  E_INVALID_MAIL: [500, "The mail cannot be composed: its addresses, subject or content are invalid."],
  E_MAIL_NOT_SENT: [503, "The mail could not be sent; try again in a moment."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);
