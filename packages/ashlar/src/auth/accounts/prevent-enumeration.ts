import { ConfigurationError } from "../../support/index.ts";
import { EMAIL_TAKEN_LIMIT } from "../../throttle/index.ts";
import type { AccountService } from "./account-service.ts";
import { type AccountModel, isVerifiable } from "./account-user.ts";
import { mayMail } from "./may-mail.ts";

const WHERE = "config/auth.ts: ACCOUNTS.preventEnumeration";

/**
 * Makes sure that answers can be alike: everything they leave out is told by mail, and no one logs in before that.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
export function requireVerification(service: AccountService): void {
  if (!service.configuration.preventEnumeration) return;
  if (!service.mails.areSent) {
    const remedy = 'Add it to PROVIDERS: import { MailProvider } from "ashlar/mail".';
    throw new ConfigurationError(WHERE, "users are told everything by mail, and MailProvider is missing.", remedy);
  }
  for (const guard of service.guardNames) {
    if (service.pages.has(guard, "register")) requireVerifiable(service.modelOf(guard), guard);
  }
}

/** @throws `E_INVALID_CONFIGURATION` */
export function requireVerifiable(model: AccountModel, guard: string): void {
  if (isVerifiable(model.prototype)) return;
  const problem = `users of the guard "${guard}" register, and their address is never verified.`;
  const remedy = `Add the mixin: class ${model.name} extends compose(Model, Authenticates, MustVerifyEmail).`;
  throw new ConfigurationError(WHERE, problem, remedy);
}

/**
 * Mails the owner of an address that someone wanted it for another account, once in a while. An address that is only
 * reserved, because a change of address can still be undone, has no owner to tell.
 *
 * Security: call it in the background. Whether there is an owner must not show in the time of an answer.
 */
export async function tellOwner(
  service: AccountService,
  guard: string,
  email: string,
  isChange: boolean,
): Promise<void> {
  const user = await service.modelOf(guard).findBy("email", email);
  if (user === null || !(await mayMail(service.container, EMAIL_TAKEN_LIMIT, guard, email))) return;
  await service.mails.prepare();
  const loginUrl = service.pages.has(guard, "login") ? service.url(guard, "login", {}) : null;
  service.mails.tryQueue("emailTaken", email, { guard, user, email, isChange, loginUrl });
}
