import { declareErrors } from "ashlar";

declare module "ashlar" {
  interface ErrorCodes {
    E_INVITATION: 410;
  }
}

declareErrors({ E_INVITATION: [410, "This invitation is invalid or has expired."] });
