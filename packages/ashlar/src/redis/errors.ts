import { declareErrors, type StatusesOf } from "../support/index.ts";

const CODES = {
  E_REDIS_UNAVAILABLE: [503, "The service is not available right now; try again in a moment."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);
