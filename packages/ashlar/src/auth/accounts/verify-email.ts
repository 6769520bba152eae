import { UniqueViolationError } from "../../database/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { currentDate } from "../../support/index.ts";
import { announce } from "../events.ts";
import type { VerificationClaim } from "./account-links.ts";
import type { AccountService } from "./account-service.ts";
import { type AccountModel, type AccountUser, isVerifiable } from "./account-user.ts";
import { requireUser } from "./change-password.ts";

/** What came of following a verification link. */
export type VerificationOutcome = "verified" | "already" | "invalid";

/** Mails the user who is logged in a new verification link; see `Accounts.sendVerification`. */
export async function sendVerification(service: AccountService, context: HttpContext): Promise<boolean> {
  const user = await requireUser(context);
  // Before anything that needs mails: without the mixin there is nothing to send.
  if (!isVerifiable(user) || user.hasVerifiedEmail()) return false;
  const mailer = await service.mails.prepare();
  await user.verifyEmail(mailer, context.request);
  return true;
}

/** Follows a verification link; see `Accounts.verifyEmail`. */
export async function verifyEmail(
  service: AccountService,
  context: HttpContext,
  token: unknown,
): Promise<VerificationOutcome> {
  const read = service.links.readVerification(token);
  // A link that was made for another guard's page is not one here.
  const isHere = read !== null && service.pages.isShared("email.verify", read.guard, context.auth.guardName);
  const claim = isHere ? read : null;
  const model = claim === null ? null : service.modelNamed(claim.guard);
  if (claim === null || model === null) return "invalid";
  const user = await model.findByAuthId(claim.id);
  const outcome = outcomeFor(user, claim);
  // HEAD tells what GET would do, and does nothing: some mail programs ask that way whether a link leads anywhere.
  if (user === null || outcome !== "verified" || context.request.raw.method === "HEAD") return outcome;
  if (claim.newEmail === null) return confirmAddress(context, model, claim);
  return takeNewAddress(context, model, claim, claim.newEmail);
}

/** What following a link means for a user as the table has it now. */
function outcomeFor(user: AccountUser | null, { email, newEmail }: VerificationClaim): VerificationOutcome {
  if (user === null) return "invalid";
  if (newEmail !== null && user.email === newEmail) return "already";
  if (user.email !== email) return "invalid";
  if (newEmail !== null) return "verified";
  if (!isVerifiable(user)) return "invalid";
  return user.hasVerifiedEmail() ? "already" : "verified";
}

async function confirmAddress(
  context: HttpContext,
  model: AccountModel,
  claim: VerificationClaim,
): Promise<VerificationOutcome> {
  const row = model.where(model.primaryKey as "email", claim.id).where("email", claim.email);
  // One conditional UPDATE decides between parallel uses: of those that find the column empty, one fills it.
  const written = await row.whereNull("verified_at" as "email").update({ verified_at: currentDate() } as object);
  const user = await model.findByAuthId(claim.id);
  if (written === 0 || user === null) return outcomeFor(user, claim);
  announce(context, "auth.email_verified", claim.guard, { user });
  return "verified";
}

async function takeNewAddress(
  context: HttpContext,
  model: AccountModel,
  claim: VerificationClaim,
  email: string,
): Promise<VerificationOutcome> {
  const before = await model.findByAuthId(claim.id);
  // Whoever follows the link has shown that the new address is his.
  const proof = before !== null && isVerifiable(before) ? { verified_at: currentDate() } : {};
  const row = model.where(model.primaryKey as "email", claim.id).where("email", claim.email);
  let written: number;
  try {
    written = await row.update({ email, ...proof } as object);
  } catch (error) {
    // The address became somebody else's since the link was made.
    if (error instanceof UniqueViolationError) return "invalid";
    throw error;
  }
  const user = await model.findByAuthId(claim.id);
  if (written === 0 || user === null) return outcomeFor(user, claim);
  announce(context, "auth.email_changed", claim.guard, { user, previousEmail: claim.email, email });
  if (before !== null && isVerifiable(before) && !before.hasVerifiedEmail()) {
    announce(context, "auth.email_verified", claim.guard, { user });
  }
  return "verified";
}
