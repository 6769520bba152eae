import { declareErrors, type StatusesOf } from "../support/index.ts";

const CODES = {
  E_WEAK_SECRET: [500, "The secret is missing or too weak."],
  E_INVALID_VALUE: [500, "The value is too large, or not of a kind that can be signed or sealed."],
  E_INVALID_PASSWORD: [422, "The password is not acceptable."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);
