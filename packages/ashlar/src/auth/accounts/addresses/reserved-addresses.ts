import { spellingsOfEmail } from "../../../security/index.ts";
import type { Message } from "../../../support/index.ts";
import { message } from "../../messages.ts";
import type { AccountUser } from "../../users/account-store.ts";
import type { UserId } from "../../users/authenticatable.ts";
import type { AccountPages } from "../links/account-pages.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { EmailChangeTable } from "./email-change-table.ts";

/** The message about an address that another account has or can still reclaim. It doesn't reveal which is the case. */
export const TAKEN: Message = message("auth.email.taken");

/** Thrown to roll back a change that gave an account an address that another account can still reclaim. */
export class ReservedAddress extends Error {}

/** The dependencies of {@link ReservedAddresses}. */
export interface ReservedAddressesDependencies {
  readonly users: GuardUsers;
  readonly pages: AccountPages;
  readonly emailChanges: EmailChangeTable;
}

/** Finds out which addresses an account cannot get. */
export class ReservedAddresses {
  readonly #dependencies: ReservedAddressesDependencies;

  constructor(dependencies: ReservedAddressesDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Reports whether an account cannot get an address, because another account has it or can still reclaim it.
   *
   * @param user the account that wants the address; `null` for an account that is being registered
   */
  async isTaken(guard: string, email: string, user: AccountUser | null): Promise<boolean> {
    const { users, emailChanges } = this.#dependencies;
    const guards = this.#guardsWithReservations(guard);
    const beside = users.tableBesideAuth(guard);
    if (guards !== null && beside !== null) {
      return emailChanges.isReservedOrOwned(email, guards, idOf(user), beside);
    }
    // Doesn't use `findByEmail`, because an address that the store treats as equal is taken too. Always checks both, so
    // that the response time doesn't reveal which one matched.
    const owned = await users.of(guard).existing("email", spellingsOfEmail(email));
    const reserved = await this.#isReserved(guard, email, user);
    return owned.length > 0 || reserved;
  }

  /**
   * Refuses an address that an account has just been given, if another one can still reclaim it.
   *
   * Security: call it after the write and in the same transaction. Before the write is too early: the unique index
   * makes the write wait for a change of address that is about to free this one, and only after that can the change be
   * found.
   *
   * @param user the user, as for {@link isTaken}
   * @throws `ReservedAddress`
   */
  async refuseReserved(guard: string, email: string, user: AccountUser | null): Promise<void> {
    if (await this.#isReserved(guard, email, user)) throw new ReservedAddress();
  }

  /**
   * An address stays reserved for the account that had verified it for as long as the change can be undone. Otherwise a
   * thief could register the address that was freed, and the owner's link would no longer work.
   */
  async #isReserved(guard: string, email: string, user: AccountUser | null): Promise<boolean> {
    const guards = this.#guardsWithReservations(guard);
    return guards !== null && this.#dependencies.emailChanges.isReserved(email, guards, idOf(user));
  }

  /** The guards with the same users; `null` if addresses can't be reserved. */
  #guardsWithReservations(guard: string): readonly string[] | null {
    const { users, pages } = this.#dependencies;
    const guards = users.guardsKeeping(users.of(guard));
    // Without a page to undo a change, no address can be changed, and the table may not exist.
    return guards.some((name) => pages.has(name, "email.undo")) ? guards : null;
  }
}

function idOf(user: AccountUser | null): UserId | null {
  return user === null ? null : user.authId();
}
