import { declareErrors } from "../support/index.ts";

declare module "../support/errors.ts" {
  interface FrameworkErrors {
    E_REDIS_UNAVAILABLE: 503;
  }
}

declareErrors({ E_REDIS_UNAVAILABLE: [503, "The service is not available right now; try again in a moment."] });
