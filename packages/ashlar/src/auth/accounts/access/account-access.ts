import type { Events } from "../../../events/index.ts";
import { type AccessEnding, endAccess, type StoredAccount } from "../../access/end-access.ts";
import { rotateAccess, updateEnding } from "../../access/rotate-access.ts";
import type { KeptLogin } from "../../logins/login-store.ts";
import type { LoginStores } from "../../logins/login-stores.ts";
import type { AccountStore, AccountUser } from "../../users/account-store.ts";
import type { Authenticatable } from "../../users/authenticatable.ts";
import type { GuardUsers } from "../users/guard-users.ts";

/** The dependencies of {@link AccountAccess}. */
export interface AccountAccessDependencies {
  readonly users: GuardUsers;
  readonly logins: LoginStores;
  /** Reports whether the application has a database: logins and users may both be stored elsewhere. */
  readonly hasDatabase: () => boolean;
  /** Returns the application's events; `null` if it has none. */
  readonly events: () => Events | null;
}

/** The guard of a request whose login continues when access to the account ends. */
export interface LoginKeeper {
  readonly name: string;
  /** The login of the request under a new access epoch, with a new token; `null` for a guest. */
  keepAlone(changed: Authenticatable): KeptLogin | null;
}

/** How much access to end, and for which user. */
export interface AccountEnding<User> extends AccessEnding<User> {
  /** The user whose login continues, if `what` is `others`; `null` if no login continues, and all access ends. */
  readonly keeper?: LoginKeeper | null;
  /** The client's address; `null` outside of a request. */
  readonly address?: string | null;
}

/** Ends access to the accounts of guards. */
export class AccountAccess {
  readonly #dependencies: AccountAccessDependencies;

  constructor(dependencies: AccountAccessDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Ends access to the account of a guard's user, with the logins of every guard that has the same rows: when access to
   * a row ends, no other guard may keep it open. See {@link endAccess}.
   */
  end<User extends Authenticatable>(guard: string, user: User, ending: AccountEnding<User>): Promise<User | null> {
    const { users, events, hasDatabase } = this.#dependencies;
    const { keeper = null, address = null } = ending;
    // If users can only log in, ending their access is left to their row or object.
    const store = users.storeOf(guard) as AccountStore<User & AccountUser> | null;
    const account: StoredAccount<User> = {
      update:
        store === null
          ? async (proof) => ((await rotateAccess(user, proof)) ? user : null)
          : updateEnding(store, user as User & AccountUser),
      transaction: (work) => (hasDatabase() ? users.transaction(guard, work) : work()),
      endLogins: (changed, what) => this.#endLogins(changed, what === "others" ? keeper : null),
      audience: { events: events(), address, guard },
    };
    return endAccess(account, { ...ending, what: keeper === null ? "everything" : ending.what });
  }

  async #endLogins(user: Authenticatable, keeper: LoginKeeper | null): Promise<void> {
    const { users, logins } = this.#dependencies;
    for (const guard of users.guardsKeeping(user.constructor)) {
      if (!logins.has(guard)) continue;
      const kept = guard === keeper?.name ? keeper.keepAlone(user) : null;
      await logins.of(guard).endAll({ guard, userId: user.authId() }, kept);
    }
  }
}
