import { hasPassword } from "../passwords/verify-credentials.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import { PASSWORD, type Proof } from "./proof.ts";

/** The first proof: every application has it. */
export const passwordProof: Proof<Authenticatable> = Object.freeze({
  name: PASSWORD,
  amr: Object.freeze(["pwd"]),
  startsLogins: true,
  page: "confirm_password",
  has: hasPassword,
});
