import type { AccountService } from "./account-service.ts";
import { type AccountUser, isVerifiable, NO_PASSWORD } from "./account-user.ts";
import { endAccess } from "./end-access.ts";
import { resetTokenFor } from "./reset-password.ts";

/** The page where a password is chosen, which verifies the address. */
export const FINISH_PAGE = "password_reset";

/** Tells whether an account waits for its address to be verified before anyone can log in to it. */
export function isUnfinished(service: AccountService, guard: string, user: AccountUser): boolean {
  if (!service.configuration.preventEnumeration || !service.pages.has(guard, FINISH_PAGE)) return false;
  return isVerifiable(user) && !user.hasVerifiedEmail();
}

/**
 * Mails the owner of an unfinished account's address a link to choose a password, and first voids the password and the
 * links that the account has so far.
 *
 * Security: of those who registered the address, no one knows which is its owner. All are told to follow the link in
 * their mail, so a link that verified the address would make the password of a stranger good by the owner's own click.
 *
 * @param isAllowed whether the limit lets a mail through. What voids something mails in any case, or the owner would be
 * left without a link; that happens once to an account, which then has no password to void.
 * @returns whether all is done; `false` if the account was verified, voided or changed since it was read
 */
export async function offerPassword(
  service: AccountService,
  guard: string,
  user: AccountUser,
  isAllowed: boolean,
): Promise<boolean> {
  const hash = user.passwordHash();
  const isOpen = hash !== null && hash !== NO_PASSWORD;
  if (!isOpen && !isAllowed) return true;
  const token = await service.database.transaction(async () => {
    if (isOpen && !(await voidAccess(service, guard, user))) return null;
    return resetTokenFor(service, guard, user);
  });
  if (token === null) return false;
  const { email } = user;
  const url = service.url(guard, FINISH_PAGE, {}, { token });
  const expiresInMinutes = service.resetExpiresInMinutes;
  service.mails.tryQueue("finishRegistration", email, { guard, user, email, url, expiresInMinutes });
  return true;
}

async function voidAccess(service: AccountService, guard: string, user: AccountUser): Promise<boolean> {
  const { primaryKey, passwordColumn } = service.modelOf(guard);
  const changes = { ...user.accessChanges(), [passwordColumn]: NO_PASSWORD };
  // One conditional UPDATE decides between this, another registration, and a verification that is under way.
  const row = service
    .modelOf(guard)
    .where(primaryKey as "email", user.authId())
    .where("email", user.email)
    .whereNull("verified_at" as "email")
    .where(passwordColumn as "email", "!=", NO_PASSWORD);
  if ((await row.update(changes as object)) === 0) return false;
  user.noteStored(changes);
  await endAccess(service, user);
  return true;
}
