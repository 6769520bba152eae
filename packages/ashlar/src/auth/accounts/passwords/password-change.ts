import type { HttpContext } from "../../../http/index.ts";
import { currentDate, ValidationError } from "../../../support/index.ts";
import { announce } from "../../events.ts";
import { message } from "../../messages.ts";
import type { AccountAccess } from "../access/account-access.ts";
import type { AccountMails } from "../mails/account-mails.ts";
import { hashChosenPassword } from "../users/account-input.ts";
import { keeperOf, requirePassword, requireUser, takeOver } from "../users/current-user.ts";
import type { GuardUsers } from "../users/guard-users.ts";

/** The dependencies of {@link PasswordChange}. */
export interface PasswordChangeDependencies {
  readonly users: GuardUsers;
  readonly mails: AccountMails;
  readonly access: AccountAccess;
}

/** Changes the password of a user who is logged in. */
export class PasswordChange {
  readonly #dependencies: PasswordChangeDependencies;

  constructor(dependencies: PasswordChangeDependencies) {
    this.#dependencies = dependencies;
  }

  /** See `Accounts.changePassword`. */
  async make(context: HttpContext, current: unknown, password: unknown, confirmation: unknown): Promise<void> {
    const { users, mails, access } = this.#dependencies;
    const owner = await requireUser(context);
    await mails.prepare();
    await requirePassword(context, current, "current_password", true);
    const guard = context.auth.guardName;
    const hash = (plain: unknown) => users.hashPasswordOf(guard, owner, plain);
    const passwordHash = await hashChosenPassword(hash, password, confirmation);
    const user = await access.end(guard, owner, {
      what: "others",
      reason: "password_changed",
      // If two parallel changes both have the previous password, only one succeeds.
      proof: "user",
      changes: { passwordHash },
      keeper: keeperOf(context),
      address: context.request.clientAddress,
      also: async (changed) => {
        const { email } = changed;
        const [{ language }, changedAt] = [context, currentDate()];
        const notice = { guard, language, user: changed, email, changedAt, wasReset: false };
        if (email !== null) await mails.tryQueue("passwordChanged", email, { ...notice, email });
      },
    });
    if (user === null) throw new ValidationError({ current_password: [message("auth.account.changed")] });
    takeOver(context, user);
    announce(context, "auth.password_changed", guard, { user });
  }
}
