import type { RegisteredUser } from "../../support/index.ts";
import type { GivenProof } from "../proofs/login-methods.ts";

/** Options of a login. */
export interface LoginOptions {
  /** Whether the login outlasts the browser session, if the guard supports that. */
  readonly remember?: boolean;
  /** Whether the account was just created, so that no mail about a new device is needed. */
  readonly firstLogin?: boolean;
}

/** Options of a login by any proof. */
export interface EntryOptions extends LoginOptions {
  /**
   * The name of the proof that the user has just given: `password`, `passkey`, as its feature declares it. Leave it out
   * if nothing was proved, as for a login on behalf of a user: `password.confirm` then asks for a proof.
   *
   * Security: name it only if the same request has verified that proof, of this user.
   */
  readonly by?: string;
  /** The factors satisfied this time, as values of RFC 8176, if they differ from the proof's declaration. */
  readonly amr?: readonly string[];
}

/** A proof that failed. */
export interface FailedProof<User extends object = RegisteredUser> {
  /** The name of the proof: `passkey`. */
  readonly by: string;
  /** The account that was tried; default: `null`, if unknown. */
  readonly user?: User | null;
  /** The identifier that was sent, in its normal form; default: `null`. */
  readonly identifier?: string | null;
}

/** Options of a login, with the proof that it began with; `null`: nothing was proved. */
export interface ProvedOptions extends LoginOptions {
  readonly proof: GivenProof | null;
}

export const NOTHING_PROVED: ProvedOptions = Object.freeze({ proof: null });

/** Options of a login without a proof. */
export function unproved({ remember, firstLogin }: LoginOptions): ProvedOptions {
  return { ...(remember !== undefined && { remember }), ...(firstLogin !== undefined && { firstLogin }), proof: null };
}
