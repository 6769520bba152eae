import type { Authenticatable } from "../authenticatable.ts";
import { hasPassword } from "../credentials.ts";
import { PASSWORD, type Proof } from "../proofs/proof.ts";

/** The first proof: every application has it. */
export const passwordProof: Proof<Authenticatable> = Object.freeze({
  name: PASSWORD,
  amr: Object.freeze(["pwd"]),
  startsLogins: true,
  page: "confirm_password",
  has: hasPassword,
});
