import { isSameEmail } from "../../../security/index.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { isVerifiable } from "../../users/authenticatable.ts";
import { epochDigestOf, type VerificationClaim } from "../links/account-links.ts";

/**
 * The result of following a verification link. After `confirm`, nothing has changed: the link would have an effect, but
 * the request was a GET by someone who is not logged in as the user, so a page has to ask first.
 */
export type VerificationOutcome = "verified" | "already" | "invalid" | "confirm";

/** The contents of a verification link. */
export interface VerificationLink {
  /** The address that it was mailed to. */
  readonly email: string;
  /** Whether the link replaces the address of an account. */
  readonly isChange: boolean;
}

/** The effect of a link for a user, according to the stored row. */
export function outcomeFor(
  user: AccountUser | null,
  { email, newEmail, epoch }: VerificationClaim,
): VerificationOutcome {
  if (user === null) return "invalid";
  // The link may have been mailed before the row got the normal form.
  if (newEmail !== null && isSameEmail(user.email, newEmail)) return "already";
  if (!isSameEmail(user.email, email)) return "invalid";
  if (newEmail === null) {
    if (!isVerifiable(user)) return "invalid";
    if (user.hasVerifiedEmail()) return "already";
  }
  // Ending access to the account has invalidated every link mailed before.
  return epochDigestOf(user) === epoch ? "verified" : "invalid";
}
