import { declareErrors, type StatusesOf } from "../../support/index.ts";

const CODES = {
  E_ANSWERED: [500, "A middleware has responded to the request."],
} as const;

declare module "../../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);
