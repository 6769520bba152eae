import type { Events } from "../../../events/index.ts";
import { currentDate, type RegisteredUser } from "../../../support/index.ts";
import { NO_PASSWORD } from "../../passwords/verify-credentials.ts";
import type { AccountUser } from "../../users/account-store.ts";
import type { AccountAccess } from "./account-access.ts";

/** The dependencies of {@link PasswordVoiding}. */
export interface PasswordVoidingDependencies {
  readonly access: AccountAccess;
  /** Returns the application's events; `null` if it has none. */
  readonly events: () => Events | null;
}

/** Makes the passwords of accounts invalid. */
export class PasswordVoiding {
  readonly #dependencies: PasswordVoidingDependencies;

  constructor(dependencies: PasswordVoidingDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Makes the password of an account invalid, and ends all access to it, in one transaction: no matter which password
   * is stored, because the leaked one may be newer than the user as read. Only a link can set a new one.
   *
   * @param user who has a password
   * @returns whether the account existed
   */
  async make(guard: string, user: AccountUser): Promise<boolean> {
    const { access, events } = this.#dependencies;
    const changes = { passwordHash: NO_PASSWORD };
    const ending = { what: "everything", reason: "password_voided", proof: "none", changes } as const;
    const changed = await access.end(guard, user, ending);
    if (changed === null) return false;
    const told = { time: currentDate(), address: null, guard, user: changed as RegisteredUser };
    void events()?.emit("auth.password_changed", told);
    return true;
  }
}
