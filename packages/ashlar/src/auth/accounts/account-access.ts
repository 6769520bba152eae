import type { HttpContext } from "../../http/index.ts";
import { endCredentials, makeAccessEpoch } from "../access-epoch.ts";
import type { AccountUser } from "../account-store.ts";
import type { LoginStores } from "../logins/login-stores.ts";
import type { GuardUsers } from "./guard-users.ts";

/** Ends what users are logged in by. */
export class AccountAccess {
  readonly #users: GuardUsers;
  readonly #logins: LoginStores;

  constructor(users: GuardUsers, logins: LoginStores) {
    this.#users = users;
    this.#logins = logins;
  }

  /**
   * Ends what a user, or someone else, is logged in by, once access was ended on the user's row: deletes the logins on
   * all devices, and the credentials that features have given the user. Part of the transaction that is under way.
   *
   * @param user with the new epoch
   * @param keepFor the request whose own login goes on; `null` to end all of them
   */
  async end(user: AccountUser, keepFor: HttpContext | null = null): Promise<void> {
    // By every class of the same rows: what ends access to a row must not leave it open by another name.
    for (const guard of this.#users.guardsKeeping(user.constructor)) {
      if (!this.#logins.has(guard)) continue;
      if (guard === keepFor?.auth.guardName) await keepFor.auth.logins().keepCurrent(user);
      else await this.#logins.of(guard).endAll({ guard, userId: user.authId() });
    }
    await endCredentials(user);
  }

  /** Ends all access to the account of a user, whatever it rests on; see `Accounts.endAccess`. */
  async endAll(guard: string, user: AccountUser): Promise<boolean> {
    return this.#users.transaction(guard, async () => {
      const ended = await this.#users.of(guard).update(user, { accessEpoch: makeAccessEpoch() }, {});
      if (ended !== null) await this.end(ended);
      return ended !== null;
    });
  }
}
