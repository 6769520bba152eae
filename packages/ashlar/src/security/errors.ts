import { declareErrors } from "../support/index.ts";

declare module "../support/errors.ts" {
  interface FrameworkErrors {
    E_WEAK_SECRET: 500;
    E_INVALID_VALUE: 500;
    E_INVALID_PASSWORD: 422;
  }
}

declareErrors({
  E_WEAK_SECRET: [500, "The secret is missing or too weak."],
  E_INVALID_VALUE: [500, "The value is too large, or not of a kind that can be signed or sealed."],
  E_INVALID_PASSWORD: [422, "The password is not acceptable."],
});
