import { declareErrors, type StatusesOf } from "../support/index.ts";

/** The error codes for limits, with their statuses and sentences. */
export const THROTTLE_ERRORS = {
  E_UNKNOWN_CLIENT: [500, "The application does not know who sends this request."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof THROTTLE_ERRORS> {}
}

declareErrors(THROTTLE_ERRORS);
