import { declareErrors } from "../../support/index.ts";

declare module "../../support/errors.ts" {
  interface FrameworkErrors {
    E_ANSWERED: 500;
  }
}

declareErrors({
  E_ANSWERED: [500, "A middleware has responded to the request."],
});
