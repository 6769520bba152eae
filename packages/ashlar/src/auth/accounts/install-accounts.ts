import type { Application } from "../../boot/index.ts";
import { claimModel } from "../../database/index.ts";
import { deviceName } from "../logins/device.ts";
import { AccountServices } from "./account-services.ts";
import { EMAIL_CHANGE_TABLE } from "./addresses/email-change-table.ts";
import { NEW_DEVICE_LIMIT } from "./limits.ts";
import type { CompleteAuthSettings } from "./mails/settings.ts";
import { isVerifiable } from "./users/account-user.ts";

/**
 * Binds the services of accounts. Called when providers register; it requires nothing from other providers before a
 * request.
 */
export function installAccounts(application: Application, settings: CompleteAuthSettings): void {
  const { container } = application;
  const services = new AccountServices(application, settings);
  container.bind("accounts", services);
  // Otherwise a login would reveal whether the address was free to a caller who registers it.
  if (services.settings.preventEnumeration) {
    container.make("auth").admitOnly((user) => !isVerifiable(user) || user.hasVerifiedEmail());
  }
}

/**
 * Assigns the models of the guards to this application, so that they use its keys and database. Also mails users about
 * logins on new devices, if the application has such a mail. It goes only to a verified address, if the model tracks
 * that, and its number for each mailbox is limited: an account can be registered with the address of someone else, and
 * logged in to any number of times. Called when providers boot.
 */
export function startAccounts(application: Application, { passwordResetTable }: CompleteAuthSettings): void {
  const { container, messages } = application;
  const { mails, mailLimits, promises, settings, users } = container.make("accounts");
  promises.start();
  container.make("accounts.mails").check(settings.mailables);
  for (const model of users.models) claimModel(model, application);
  if (container.has("database")) {
    container.make("database").keepOnPrimary([passwordResetTable, EMAIL_CHANGE_TABLE]);
  }
  if (!mails.has("newDevice") || !container.has("events")) return;
  container.make("events").on("auth.new_device", async ({ guard, user, userAgent, address, time }) => {
    const { email } = user as { readonly email: string | null };
    if (email === null) return;
    if (isVerifiable(user) && !user.hasVerifiedEmail()) return;
    if (!(await mailLimits.allows(NEW_DEVICE_LIMIT, guard, email))) return;
    await mails.prepare();
    // In the language of the mail, not of the request: an attacker may have logged in.
    const device = deviceName(userAgent, messages.translator(messages.ofUser(user) ?? messages.defaultLanguage));
    await mails.tryQueue("newDevice", email, { guard, user, email, device, userAgent, address, loggedInAt: time });
  });
}
