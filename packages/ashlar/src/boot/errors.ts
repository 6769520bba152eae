import { declareErrors, type StatusesOf } from "../support/index.ts";

const CODES = {
  E_MISSING_ENVIRONMENT: [500, "A required environment variable is not set."],
  E_UNSUPPORTED_NODE: [500, "This version of Node.js is too old."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);
