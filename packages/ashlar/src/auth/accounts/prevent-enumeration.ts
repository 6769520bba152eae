import { ConfigurationError } from "../../support/index.ts";
import type { AccountService } from "./account-service.ts";
import { type AccountModel, isVerifiable } from "./account-user.ts";
import { FINISH_PAGE, isUnfinished, offerPassword } from "./finish-registration.ts";
import { EMAIL_TAKEN_LIMIT } from "./limits.ts";
import { mayMail } from "./may-mail.ts";

const WHERE = "config/auth.ts: ACCOUNTS.preventEnumeration";

/**
 * Makes sure that answers can be alike: everything they leave out is told by mail, and no one logs in before that.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
export function requireVerification(service: AccountService): void {
  if (!service.settings.preventEnumeration) return;
  if (!service.mails.areSent) {
    const remedy = 'Add it to PROVIDERS: import { MailProvider } from "ashlar/mail".';
    throw new ConfigurationError(WHERE, "users are told everything by mail, and MailProvider is missing.", remedy);
  }
  for (const guard of service.guardNames) {
    if (service.pages.has(guard, "register")) requireVerifiable(service, service.modelOf(guard), guard);
  }
}

/** @throws `E_INVALID_CONFIGURATION` */
export function requireVerifiable(service: AccountService, model: AccountModel, guard: string): void {
  if (!isVerifiable(model.prototype)) {
    const problem = `users of the guard "${guard}" register, and their address is never verified.`;
    const remedy = `Add the mixin: class ${model.name} extends compose(Model, Authenticates, MustVerifyEmail).`;
    throw new ConfigurationError(WHERE, problem, remedy);
  }
  if (service.pages.has(guard, FINISH_PAGE)) return;
  const problem = `users of the guard "${guard}" register, and there is no page where they choose a password by mail.`;
  const remedy = `Add the route "${service.pages.nameOf(guard, FINISH_PAGE)}", which Auth.routes() includes.`;
  throw new ConfigurationError(WHERE, problem, remedy);
}

/**
 * Mails the owner of an address that someone wanted it for another account, once in a while. An address that is only
 * reserved, because a change of address can still be undone, has no owner to tell. One whose account was never verified
 * is mailed a link to choose a password, with `preventEnumeration`: see {@link offerPassword}.
 *
 * @param columns what else the address was registered with
 *
 * Security: call it in the background. Whether there is an owner must not show in the time of an answer.
 */
export async function tellOwner(
  service: AccountService,
  guard: string,
  email: string,
  isChange: boolean,
  columns: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const model = service.modelOf(guard);
  let user = await model.findBy("email", email);
  if (user === null) return;
  // Counted before anything is voided: who finds it voided then finds it counted, and one mail goes out.
  const isAllowed = await mayMail(service.container, EMAIL_TAKEN_LIMIT, guard, email);
  await service.mails.prepare();
  if (isUnfinished(service, guard, user)) {
    if (await offerPassword(service, guard, user, isAllowed, columns)) return;
    // Verified or voided at this moment. Of the latter its owner is told by the one who has done it.
    user = await model.findBy("email", email);
    if (user === null || isUnfinished(service, guard, user)) return;
  }
  if (!isAllowed) return;
  const loginUrl = service.pages.has(guard, "login") ? service.url(guard, "login", {}) : null;
  service.mails.tryQueue("emailTaken", email, { guard, user, email, isChange, loginUrl });
}
