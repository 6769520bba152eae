import type { Application } from "../../boot/index.ts";
import { claimModel } from "../../database/index.ts";
import { awaitsVerification } from "../users/authenticatable.ts";
import { AccountServices } from "./account-services.ts";
import { EMAIL_CHANGE_TABLE } from "./addresses/email-change-table.ts";
import { SECURITY_EVENTS_TABLE } from "./history/security-events-table.ts";
import type { CompleteAuthSettings } from "./mails/settings.ts";

/**
 * Binds the services of accounts. Called when providers register; it requires nothing from other providers before a
 * request.
 */
export function installAccounts(application: Application, settings: CompleteAuthSettings): void {
  const { container } = application;
  const services = new AccountServices(application, settings);
  container.bind("accounts", services);
  // Otherwise, a caller could register an address and find out by logging in whether it was free.
  if (services.settings.preventEnumeration) {
    container.make("auth").refuseUsers(awaitsVerification);
  }
}

/**
 * Assigns the guards' models to this application, so that they use its keys and database, and starts sending mails.
 * Called when providers boot.
 */
export function startAccounts(application: Application, { passwordResetTable }: CompleteAuthSettings): void {
  const { container } = application;
  const { history, mails, mailLimits, promises, settings, users } = container.make("accounts");
  promises.start();
  container.make("accounts.mails").check(settings.mailables);
  for (const model of users.models) claimModel(model, application);
  if (container.has("database")) {
    container.make("database").keepOnPrimary([passwordResetTable, EMAIL_CHANGE_TABLE, SECURITY_EVENTS_TABLE]);
  }
  mails.mailNewDevices(mailLimits);
  history.start();
}
