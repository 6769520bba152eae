import { declareErrors, type StatusesOf } from "../support/index.ts";

const CODES = {
  E_UNKNOWN_CLIENT: [500, "The application does not know who sends this request."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);
