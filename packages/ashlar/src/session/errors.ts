import { declareErrors } from "../support/index.ts";

declare module "../support/errors.ts" {
  interface FrameworkErrors {
    E_CSRF: 419;
    E_SESSION: 500;
  }
}

declareErrors({
  E_CSRF: [419, "The page has expired."],
  E_SESSION: [500, "The session cannot hold the value, or is not open."],
});
