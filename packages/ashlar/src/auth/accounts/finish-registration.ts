import { NO_PASSWORD, storedHash } from "../stored-hash.ts";
import type { AccountService } from "./account-service.ts";
import { type AccountUser, isVerifiable } from "./account-user.ts";
import { endAccess } from "./end-access.ts";
import { resetTokenFor } from "./reset-password.ts";

/** The page where a password is chosen, which verifies the address. */
export const FINISH_PAGE = "password_reset";

/** Tells whether an account waits for its address to be verified before anyone can log in to it. */
export function isUnfinished(service: AccountService, guard: string, user: AccountUser): boolean {
  if (!service.settings.preventEnumeration || !service.pages.has(guard, FINISH_PAGE)) return false;
  return isVerifiable(user) && !user.hasVerifiedEmail();
}

/**
 * Mails the owner of an unfinished account's address a link to choose a password, and first voids the password and the
 * links that the account has so far.
 *
 * Security: of those who registered the address, no one knows which is its owner. All are told to follow the link in
 * their mail, so a link that verified the address would make the password of a stranger good by the owner's own click.
 *
 * The account is then what it was registered as last, and each link in a mail follows a registration: what a stranger
 * filled in before does not stay in the account of whoever registers the address and follows that link.
 *
 * @param isAllowed whether the limit lets a mail through. What voids something mails in any case, or the owner would be
 * left without a link; that happens once to an account, which then has no password to void.
 * @param columns what the account is registered with this time, besides the address and the password
 * @returns whether all is done; `false` if the account was verified, voided or changed since it was read
 */
export async function offerPassword(
  service: AccountService,
  guard: string,
  user: AccountUser,
  isAllowed: boolean,
  columns: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const isOpen = storedHash(user.passwordHash()) !== null;
  if (!isOpen && !isAllowed) return true;
  const token = await service.database.transaction(async () => {
    if (!(await registerAnew(service, guard, user, isOpen, columns))) return null;
    return resetTokenFor(service, guard, user);
  });
  if (token === null) return false;
  const { email } = user;
  const url = service.url(guard, FINISH_PAGE, {}, { token });
  const expiresInMinutes = service.resetExpiresInMinutes;
  service.mails.tryQueue("finishRegistration", email, { guard, user, email, url, expiresInMinutes });
  return true;
}

/**
 * Gives an unfinished account what it is registered with this time, and voids its password and links if it has any.
 *
 * @returns whether it still was what it was read as
 */
async function registerAnew(
  service: AccountService,
  guard: string,
  user: AccountUser,
  isOpen: boolean,
  columns: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const { primaryKey, passwordColumn } = service.modelOf(guard);
  const changes = { ...columns, ...(isOpen && { ...user.accessChanges(), [passwordColumn]: NO_PASSWORD }) };
  if (Object.keys(changes).length === 0) return true;
  // One conditional UPDATE decides between this, another registration, and a verification that is under way.
  const row = service
    .modelOf(guard)
    .where(primaryKey as "email", user.authId())
    .where("email", user.email)
    .whereNull("verified_at" as "email");
  const asRead = isOpen ? row.where(passwordColumn as "email", "!=", NO_PASSWORD) : row;
  if ((await asRead.update(changes as object)) === 0) return false;
  user.noteStored(changes);
  if (isOpen) await endAccess(service, user);
  return true;
}
