import type { HttpContext } from "../../http/index.ts";
import { AshlarError, currentDate, ValidationError } from "../../support/index.ts";
import { announce } from "../events.ts";
import { message } from "../messages.ts";
import { provesOwnPassword } from "../own-password.ts";
import { rotateAccess } from "../rotate-access.ts";
import { hashChosenPassword } from "./account-input.ts";
import type { AccountService } from "./account-service.ts";
import { type AccountUser, asAccountUser } from "./account-user.ts";
import { endAccess } from "./end-access.ts";

/**
 * The user who is logged in.
 *
 * @throws `E_UNAUTHENTICATED` where there is none
 */
export async function requireUser(context: HttpContext): Promise<AccountUser> {
  const user = await context.auth.user();
  if (user === null) throw new AshlarError("E_UNAUTHENTICATED");
  return asAccountUser(user);
}

/**
 * Has the user who is logged in prove anew who he is. The session gets a new token by it, where there is one.
 *
 * @param field the name of the input, for the message
 * @throws `E_INVALID_INPUT` where it is not the user's password
 */
export async function requirePassword(
  service: AccountService,
  context: HttpContext,
  password: unknown,
  field: string,
): Promise<void> {
  if (password !== null && password !== undefined && typeof password !== "string") {
    throw new ValidationError({ [field]: [message("auth.input.text")] });
  }
  if (!(await provesPassword(service, context, password))) {
    throw new ValidationError({ [field]: [message("auth.password.wrong")] });
  }
}

async function provesPassword(service: AccountService, context: HttpContext, password: unknown): Promise<boolean> {
  const { auth } = context;
  if (service.keepsLogins(auth.guardName)) return auth.webGuard.confirmPassword(password);
  return provesOwnPassword(context, auth.guardName, await requireUser(context), password);
}

/** Gives the user who is logged in a new password; see `Accounts.changePassword`. */
export async function changePassword(
  service: AccountService,
  context: HttpContext,
  current: unknown,
  password: unknown,
  confirmation: unknown,
): Promise<void> {
  const user = await requireUser(context);
  await service.mails.prepare();
  await requirePassword(service, context, current, "current_password");
  const guard = context.auth.guardName;
  const { passwordColumn } = service.modelOf(guard);
  const hash = await hashChosenPassword(user, passwordColumn, password, confirmation);
  await service.database.transaction(async () => {
    // Of two changes at the same moment, both with the password before them, one is made.
    if (!(await rotateAccess(user, { [passwordColumn]: hash }))) {
      throw new ValidationError({ current_password: [message("auth.account.changed")] });
    }
    await endAccess(service, user, context);
  });
  announce(context, "auth.password_changed", guard, { user });
  const { email } = user;
  service.mails.tryQueue("passwordChanged", email, {
    guard,
    language: context.language,
    user,
    email,
    changedAt: currentDate(),
    wasReset: false,
  });
}
