import type { HttpContext } from "../../http/index.ts";
import { currentDate } from "../../support/index.ts";
import { announce } from "../events.ts";
import type { VerificationClaim } from "./account-links.ts";
import type { AccountService } from "./account-service.ts";
import { type AccountModel, type AccountUser, asAccountUser, isVerifiable } from "./account-user.ts";
import { completeEmailChange } from "./change-email.ts";
import { requireUser } from "./change-password.ts";
import { outcomeFor, type VerificationLink, type VerificationOutcome } from "./verification-outcome.ts";

/** Mails the user who is logged in a new verification link; see `Accounts.sendVerification`. */
export async function sendVerification(service: AccountService, context: HttpContext): Promise<boolean> {
  const user = await requireUser(context);
  // Before anything that needs mails: without the mixin there is nothing to send.
  if (!isVerifiable(user) || user.hasVerifiedEmail()) return false;
  const mailer = await service.mails.prepare();
  await user.verifyEmail(mailer, context.request);
  return true;
}

/** Says what a verification link is about; see `Accounts.readVerification`. */
export function readVerification(
  service: AccountService,
  context: HttpContext,
  token: unknown,
): VerificationLink | null {
  const claim = claimOf(service, context, token);
  return claim === null ? null : { email: claim.newEmail ?? claim.email, isChange: claim.newEmail !== null };
}

/** A link that was made for another guard's page is not one here. */
function claimOf(service: AccountService, context: HttpContext, token: unknown): VerificationClaim | null {
  const read = service.links.readVerification(token);
  const isHere = read !== null && service.pages.isShared("email.verify", read.guard, context.auth.guardName);
  return isHere ? read : null;
}

/** Follows a verification link; see `Accounts.verifyEmail`. */
export async function verifyEmail(
  service: AccountService,
  context: HttpContext,
  token: unknown,
): Promise<VerificationOutcome> {
  const claim = claimOf(service, context, token);
  if (claim === null) return "invalid";
  const model = service.modelNamed(claim.guard);
  if (model === null) return "invalid";
  const own = await ownUser(context, claim);
  const user = own ?? (await model.findByAuthId(claim.id));
  const outcome = outcomeFor(user, claim);
  if (user === null || outcome !== "verified") return outcome;
  const { method } = context.request.raw;
  // A mail scanner follows every link: by a GET from there, a stranger's account would get the address of the mailbox.
  if (own === null && isSafe(method)) return "confirm";
  // HEAD tells what GET would do, and does nothing: some mail programs ask that way whether a link leads anywhere.
  if (method === "HEAD") return outcome;
  if (claim.newEmail === null) return confirmAddress(context, model, user, claim);
  return completeEmailChange(service, context, user, claim, claim.newEmail);
}

function isSafe(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** The user of the request itself, where the link is about that one: its login goes on after a change of address. */
async function ownUser(context: HttpContext, { guard, id }: VerificationClaim): Promise<AccountUser | null> {
  if (context.auth.guardName !== guard) return null;
  const user = await context.auth.user();
  return user !== null && String((user as AccountUser).authId()) === id ? asAccountUser(user) : null;
}

async function confirmAddress(
  context: HttpContext,
  model: AccountModel,
  proved: AccountUser,
  claim: VerificationClaim,
): Promise<VerificationOutcome> {
  let row = model.where(model.primaryKey as "email", claim.id).where("email", claim.email);
  for (const [column, value] of Object.entries(proved.accessConditions())) {
    row = value === null ? row.whereNull(column as "email") : row.where(column as "email", value);
  }
  // One conditional UPDATE decides between parallel uses: of those that find the column empty, one fills it.
  const written = await row.whereNull("verified_at" as "email").update({ verified_at: currentDate() } as object);
  const user = await model.findByAuthId(claim.id);
  if (written === 0 || user === null) return outcomeFor(user, claim);
  announce(context, "auth.email_verified", claim.guard, { user });
  return "verified";
}
