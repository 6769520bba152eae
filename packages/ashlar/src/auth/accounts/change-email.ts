import type { HttpContext } from "../../http/index.ts";
import { ValidationError } from "../../support/index.ts";
import { announce } from "../events.ts";
import { requireEmail } from "./account-input.ts";
import type { AccountService } from "./account-service.ts";
import { requirePassword, requireUser } from "./change-password.ts";

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
  await requirePassword(service, context, password, "password");
  if (newEmail === email) throw new ValidationError({ email: ["This is your address already."] });
  if ((await service.modelOf(guard).findBy("email", newEmail)) !== null) {
    throw new ValidationError({ email: ["This is taken already."] });
  }
  const expiresInMinutes = service.configuration.verificationExpiresInMinutes;
  service.mails.queue("verifyEmail", newEmail, { guard, user, email: newEmail, isChange: true, url, expiresInMinutes });
  service.mails.tryQueue("emailChanged", email, { guard, user, email, newEmail });
  announce(context, "auth.email_change_requested", guard, { user, previousEmail: email, email: newEmail });
}
