import { declareErrors } from "../support/index.ts";

declare module "../support/errors.ts" {
  interface FrameworkErrors {
    E_CONFLICTING_TOKENS: 400;
    E_INVALID_TOKEN: 401;
  }
}

declareErrors({
  E_CONFLICTING_TOKENS: [400, "The request carries two different tokens."],
  E_INVALID_TOKEN: [401, "The token is not valid."],
});
