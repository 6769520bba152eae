import { declareErrors } from "ashlar";

declare module "ashlar" {
  interface ErrorCodes {
    E_EXAMPLE_SITE: 403;
  }
}

declareErrors({ E_EXAMPLE_SITE: [403, "Example Site did not confirm who you are."] });
