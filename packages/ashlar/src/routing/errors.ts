import { declareErrors, type StatusesOf } from "../support/index.ts";

const CODES = {
  E_INVALID_ROUTE: [500, "A route definition is invalid."],
  E_UNKNOWN_ROUTE: [500, "No route has this name."],
  E_MISSING_ROUTE_PARAMETER: [500, "A route parameter needed for the URL is missing."],
  E_INVALID_ROUTE_PARAMETER: [500, "A route parameter does not fit its compiler."],
  E_INVALID_SIGNATURE: [403, "The link is not valid or has expired."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);
