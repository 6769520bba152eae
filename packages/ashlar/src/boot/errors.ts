import { declareErrors } from "../support/index.ts";

declare module "../support/errors.ts" {
  interface FrameworkErrors {
    E_MISSING_ENVIRONMENT: 500;
    E_UNSUPPORTED_NODE: 500;
  }
}

declareErrors({
  E_MISSING_ENVIRONMENT: [500, "A required environment variable is not set."],
  E_UNSUPPORTED_NODE: [500, "This version of Node.js is too old."],
});
