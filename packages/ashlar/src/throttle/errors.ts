import { declareErrors } from "../support/index.ts";

declare module "../support/errors.ts" {
  interface FrameworkErrors {
    E_UNKNOWN_CLIENT: 500;
  }
}

declareErrors({ E_UNKNOWN_CLIENT: [500, "The application does not know who sends this request."] });
