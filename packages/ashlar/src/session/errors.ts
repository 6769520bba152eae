import { declareErrors, type StatusesOf } from "../support/index.ts";

const CODES = {
  E_CSRF: [419, "The page has expired."],
  E_SESSION: [500, "The session cannot hold the value, or is not open."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);
