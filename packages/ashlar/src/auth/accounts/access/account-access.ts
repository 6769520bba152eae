import type { HttpContext } from "../../../http/index.ts";
import type { LoginStores } from "../../logins/login-stores.ts";
import { endAccess } from "../../models/end-access.ts";
import type { AccountUser } from "../../users/account-store.ts";
import type { Authenticatable } from "../../users/authenticatable.ts";
import type { GuardUsers } from "../users/guard-users.ts";

/** Ends the logins of users. */
export class AccountAccess {
  readonly #users: GuardUsers;
  readonly #logins: LoginStores;

  constructor(users: GuardUsers, logins: LoginStores) {
    this.#users = users;
    this.#logins = logins;
  }

  /**
   * Deletes the logins of a user on all devices, once access has ended with the user's row. Takes part in the current
   * transaction.
   *
   * @param user with the new epoch
   * @param keepFor the request whose own login continues; `null` to end all of them
   */
  async end(user: AccountUser, keepFor: HttpContext | null = null): Promise<void> {
    const kept = keepFor?.auth.guardName;
    await this.endBeside(kept, user);
    if (this.#guardsWithLogins(user).some((guard) => guard === kept)) await keepFor!.auth.webGuard.continueAlone(user);
  }

  /**
   * Deletes the logins of a user with every guard that has the same rows, except one: access to a row that has ended
   * must not stay open under another name.
   */
  async endBeside(kept: string | undefined, user: Authenticatable): Promise<void> {
    for (const guard of this.#guardsWithLogins(user)) {
      if (guard !== kept) await this.#logins.of(guard).endAll({ guard, userId: user.authId() });
    }
  }

  /** Ends all access to the account of a user, regardless of any proof; see `Accounts.endAccess`. */
  async endAll(guard: string, user: AccountUser): Promise<boolean> {
    return this.#users.transaction(guard, async () => {
      const ended = await endAccess(this.#users.of(guard), user);
      if (ended !== null) await this.end(ended);
      return ended !== null;
    });
  }

  #guardsWithLogins(user: Authenticatable): readonly string[] {
    return this.#users.guardsKeeping(user.constructor).filter((guard) => this.#logins.has(guard));
  }
}
