import { hasPassword } from "../passwords/verify-credentials.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import type { FeatureProof } from "./proof.ts";

/** The first proof: every application has it. */
export const passwordProof: FeatureProof<Authenticatable> = Object.freeze({
  amr: Object.freeze(["pwd"]),
  startsLogins: true,
  page: "confirm_password",
  has: hasPassword,
});
