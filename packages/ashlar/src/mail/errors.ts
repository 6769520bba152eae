import { declareErrors } from "../support/index.ts";

declare module "../support/errors.ts" {
  interface FrameworkErrors {
    E_INVALID_MAIL: 500;
    E_MAIL_NOT_SENT: 503;
  }
}

declareErrors({
  E_INVALID_MAIL: [500, "The mail cannot be composed: its addresses, subject or content are invalid."],
  E_MAIL_NOT_SENT: [503, "The mail could not be sent; try again in a moment."],
});
