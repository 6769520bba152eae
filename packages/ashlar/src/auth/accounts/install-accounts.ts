import type { Application } from "../../foundation/index.ts";
import { NEW_DEVICE_LIMIT } from "../../throttle/index.ts";
import { AccountService } from "./account-service.ts";
import { isVerifiable } from "./account-user.ts";
import { Accounts } from "./accounts.ts";
import { mayMail } from "./may-mail.ts";
import type { MustVerifyEmailStatics } from "./must-verify-email.ts";

/**
 * Gives each request its `accounts`, and the models of the guards what makes their verification links. Called when
 * providers register; what it binds needs nothing of the others before a request.
 *
 * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL` where `config/auth.ts` cannot work
 */
export function installAccounts(application: Application): void {
  const { container } = application;
  if (container.has("accounts")) return;
  const service = new AccountService(application);
  container.bind("accounts", service);
  for (const model of service.models) {
    if ("accountService" in model) (model as MustVerifyEmailStatics).accountService = service;
  }
  // Otherwise a login would tell who registers another's address whether it was free.
  if (service.configuration.preventEnumeration) {
    container.make("auth").admitOnly((user) => !isVerifiable(user) || user.hasVerifiedEmail());
  }
  application.contextProperty("accounts", (context) => new Accounts(context, service));
}

/**
 * Mails users about logins on new devices, if the application has such a mail. It goes only to an address that is verified,
 * if the model can tell, and only so often to one mailbox: an account can be registered with the address of someone else,
 * and logged in to any number of times. Called when providers boot.
 */
export function startAccounts(application: Application): void {
  const { container } = application;
  const { mails } = container.make("accounts");
  if (!mails.has("newDevice") || !container.has("events")) return;
  container.make("events").on("auth.new_device", async ({ guard, user, device, userAgent, address, time }) => {
    const { email } = user as { readonly email: string };
    if (isVerifiable(user) && !user.hasVerifiedEmail()) return;
    if (!(await mayMail(container, NEW_DEVICE_LIMIT, guard, email))) return;
    await mails.prepare();
    mails.tryQueue("newDevice", email, { guard, user, email, device, userAgent, address, loggedInAt: time });
  });
}
