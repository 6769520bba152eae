import { UniqueViolationError } from "../../database/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { currentDate, ValidationError } from "../../support/index.ts";
import { announce } from "../events.ts";
import { message } from "../messages.ts";
import { rotateAccess } from "../rotate-access.ts";
import { requireEmail } from "./account-input.ts";
import { UNDO_EXPIRES_IN_HOURS, type VerificationClaim } from "./account-links.ts";
import type { AccountService } from "./account-service.ts";
import { type AccountUser, isVerifiable } from "./account-user.ts";
import { requirePassword, requireUser } from "./change-password.ts";
import { endAccess } from "./end-access.ts";
import { tellOwner } from "./prevent-enumeration.ts";
import { isTaken, ReservedAddress, refuseReserved, TAKEN } from "./reserved-addresses.ts";
import { outcomeFor, type VerificationOutcome } from "./verification-outcome.ts";

/** Mails a link to a new address of the user who is logged in; see `Accounts.requestEmailChange`. */
export async function requestEmailChange(
  service: AccountService,
  context: HttpContext,
  input: unknown,
  password: unknown,
): Promise<void> {
  const user = await requireUser(context);
  const guard = context.auth.guardName;
  await service.mails.prepare();
  const newEmail = requireEmail(input);
  const { email } = user;
  const url = service.verificationUrl(guard, user, newEmail);
  // Without it the change could be asked for, and not be made.
  service.url(guard, "email.undo", { token: "-" });
  await requirePassword(service, context, password, "password");
  if (newEmail === email) throw new ValidationError({ email: [message("auth.email.unchanged")] });
  const { preventEnumeration, emailChangeExpiresMinutes: expiresInMinutes } = service.settings;
  const request = () => {
    announce(context, "auth.email_change_requested", guard, { user, previousEmail: email, email: newEmail });
  };
  if (!preventEnumeration) {
    if (await isTaken(service, guard, newEmail, user)) {
      service.background.run("a notice to the owner of an address", () => tellOwner(service, guard, newEmail, true));
      throw new ValidationError({ email: [TAKEN] });
    }
    request();
  }
  service.background.run("a change of address", async () => {
    if (preventEnumeration && (await isTaken(service, guard, newEmail, user))) {
      await tellOwner(service, guard, newEmail, true);
    } else {
      if (preventEnumeration) request();
      const data = { guard, language: context.language, user, email: newEmail, isChange: true, url, expiresInMinutes };
      service.mails.tryQueue("verifyEmail", newEmail, data);
    }
    // In any case: it goes to a mailbox of the one who asks.
    service.mails.tryQueue("emailChanged", email, { guard, language: context.language, user, email, newEmail });
  });
}

/**
 * Replaces the address of an account, for someone who has followed the link to the new one. All access to the account
 * ends with it, except the login of the request itself where that is the user's.
 */
export async function completeEmailChange(
  service: AccountService,
  context: HttpContext,
  user: AccountUser,
  claim: VerificationClaim,
  email: string,
): Promise<VerificationOutcome> {
  await service.mails.prepare();
  const { guard, id, email: previousEmail } = claim;
  const token = service.links.undo({ guard, id });
  const url = service.url(guard, "email.undo", { token });
  const wasVerified = isVerifiable(user) && user.hasVerifiedEmail();
  // One that was never proved may be a stranger's, who must be able to register it.
  const isReserved = wasVerified || !isVerifiable(user);
  const isOwn = context.auth.guardName === guard && ((await context.auth.user()) as object | null) === user;
  try {
    const isDone = await service.database.transaction(async () => {
      // Following the link has shown that the new address is theirs.
      const proof = isVerifiable(user) ? { verified_at: currentDate() } : {};
      if (!(await rotateAccess(user, { email, ...proof }))) return false;
      await refuseReserved(service, guard, email, user);
      await service.emailChanges.record(guard, user.authId(), previousEmail, token, isReserved);
      // What is kept under an address that is not reserved can't be told from another user's by the time of a deletion.
      if (!isReserved) await service.resets.delete(service.guardsKeeping(user.constructor), [previousEmail]);
      await endAccess(service, user, isOwn ? context : null);
      return true;
    });
    if (!isDone) return outcomeFor(await service.modelOf(guard).findByAuthId(id), claim);
  } catch (error) {
    // The address became another account's since the link was made, or was freed by one that can still take it back.
    if (error instanceof UniqueViolationError || error instanceof ReservedAddress) return "invalid";
    throw error;
  }
  const expiresInHours = UNDO_EXPIRES_IN_HOURS;
  service.mails.tryQueue("emailChangeCompleted", previousEmail, {
    guard,
    language: context.language,
    user,
    email: previousEmail,
    newEmail: email,
    url,
    expiresInHours,
  });
  announce(context, "auth.email_changed", guard, { user, previousEmail, email });
  if (isVerifiable(user) && !wasVerified) announce(context, "auth.email_verified", guard, { user });
  return "verified";
}
