import type { HttpContext } from "../../http/index.ts";
import { digest } from "../../security/index.ts";
import { currentDate, ValidationError } from "../../support/index.ts";
import { makeAccessEpoch } from "../access-epoch.ts";
import { announce } from "../events.ts";
import { PASSWORD_LIMIT } from "../limits.ts";
import { message } from "../messages.ts";
import { rotateAccess } from "../rotate-access.ts";
import { hashChosenPassword, requireEmail } from "./account-input.ts";
import { type AccountClaim, epochDigestOf } from "./account-links.ts";
import type { AccountService } from "./account-service.ts";
import { type AccountUser, isVerifiable } from "./account-user.ts";
import { endAccess } from "./end-access.ts";

/** The primary key that stands for nobody. */
const NOBODY = "0";

/** Mails a link that sets a new password, if there is an account; see `Accounts.requestPasswordReset`. */
export async function requestPasswordReset(
  service: AccountService,
  context: HttpContext,
  input: unknown,
): Promise<void> {
  const email = requireEmail(input);
  const guard = context.auth.guardName;
  const model = service.modelOf(guard);
  await service.mails.prepare();
  // A route that is missing is told to the developer, and not only to the log.
  service.url(guard, "password_reset", {});
  // After the answer, which leaves at the same time whether or not the address has an account.
  service.background.run("a password reset", async () => {
    const user = await model.findBy("email", email);
    // What can be done for an address without an account is done as well: it delays the requests that come meanwhile.
    const token =
      user === null ? await unusableToken(service, guard, email) : await resetTokenFor(service, guard, user);
    const url = service.url(guard, "password_reset", {}, { token });
    announce(context, "auth.password_reset_requested", guard, { user, email });
    const expiresInMinutes = service.resetExpiresInMinutes;
    if (user !== null)
      service.mails.tryQueue("resetPassword", email, {
        guard,
        language: context.language,
        user,
        email,
        url,
        expiresInMinutes,
      });
  });
}

/** Makes the token of a link that sets a user's password, and stores its digest in place of an older one's. */
export async function resetTokenFor(service: AccountService, guard: string, user: AccountUser): Promise<string> {
  const token = service.links.reset({ guard, id: String(user.authId()), epoch: epochDigestOf(user) });
  const { email } = user;
  await service.resets.replace(guard, email, token, { users: service.usersBesideAuth(guard), email, isKnown: true });
  return token;
}

/** Does for an address without an account what {@link resetTokenFor} does for one with an account. */
async function unusableToken(service: AccountService, guard: string, email: string): Promise<string> {
  const token = service.links.reset({ guard, id: NOBODY, epoch: digest(makeAccessEpoch()) });
  const proof = { users: service.usersBesideAuth(guard), email, isKnown: false };
  await service.resets.replace(guard, placeholder(email), token, proof);
  return token;
}

/**
 * What stands in the table in the place of an address without an account, and is none itself. There are 4096 of them:
 * whoever makes addresses up does not fill the table, and an address that somebody mistyped is kept nowhere.
 */
function placeholder(email: string): string {
  return `nobody-${digest(email).slice(0, 2)}`;
}

/** A link that can still set a new password. */
export interface UsablePasswordReset {
  /** The address of the account. */
  readonly email: string;
}

/** What the token of a link is still good for; see `Accounts.findPasswordReset`. */
export async function findPasswordReset(
  service: AccountService,
  context: HttpContext,
  token: unknown,
): Promise<UsablePasswordReset | null> {
  const found = await findReset(service, context, token);
  return found === null ? null : { email: found.user.email };
}

/** Sets a new password by the token of a link; see `Accounts.resetPassword`. */
export async function resetPassword(
  service: AccountService,
  context: HttpContext,
  token: unknown,
  password: unknown,
  confirmation: unknown,
): Promise<AccountUser | null> {
  if (token === null || token === undefined) return null;
  if (typeof token !== "string") throw new ValidationError({ token: [message("auth.input.text")] });
  const found = await findReset(service, context, token);
  if (found === null) return null;
  const { claim, user } = found;
  await service.mails.prepare();
  // Before the transaction: a hash takes long, and a password that is refused must leave the link as it is.
  const { passwordColumn } = service.modelOf(claim.guard);
  const hash = await hashChosenPassword(user, passwordColumn, password, confirmation);
  // Users who cannot log in before their address is verified have this way left when the link for that has expired.
  const isProof = service.settings.preventEnumeration && isVerifiable(user) && !user.hasVerifiedEmail();
  const proof = isProof ? { verified_at: currentDate() } : {};
  const isDone = await service.database.transaction(async () => {
    if (!(await service.resets.consume(token))) return false;
    // The user was read before the hash was made: what ended access in between has voided the link.
    if (!(await rotateAccess(user, { [passwordColumn]: hash, ...proof }))) return false;
    await endAccess(service, user);
    return true;
  });
  if (!isDone) return null;
  // A user who reads the account's mail is not guessing, and what was guessed before was at another password.
  await context.auth.throttle?.clear(context, PASSWORD_LIMIT, { guard: claim.guard, user });
  announce(context, "auth.password_reset", claim.guard, { user });
  if (isProof) announce(context, "auth.email_verified", claim.guard, { user });
  const { guard } = claim;
  const { email } = user;
  service.mails.tryQueue("passwordChanged", email, {
    guard,
    language: context.language,
    user,
    email,
    changedAt: currentDate(),
    wasReset: true,
  });
  return user;
}

/** Whom a token was mailed to, provided that it can still be used here and that nothing has voided it since. */
async function findReset(
  service: AccountService,
  context: HttpContext,
  token: unknown,
): Promise<{ readonly claim: AccountClaim; readonly user: AccountUser } | null> {
  // A token that was not made here costs no query.
  const claim = typeof token === "string" ? service.links.readReset(token) : null;
  if (claim === null) return null;
  // A link that was made for another guard's page is not one here.
  if (!service.pages.isShared("password_reset", claim.guard, context.auth.guardName)) return null;
  const user = await ownerOf(service, token as string, claim);
  return user === null ? null : { claim, user };
}

async function ownerOf(
  service: AccountService,
  token: string,
  { guard, id, epoch }: AccountClaim,
): Promise<AccountUser | null> {
  const email = await service.resets.addressOf(token);
  const user = email === null ? null : ((await service.modelNamed(guard)?.findByAuthId(id)) ?? null);
  return user !== null && user.email === email && epochDigestOf(user) === epoch ? user : null;
}
