import type { Message } from "../../support/index.ts";
import type { AccountUser } from "../account-store.ts";
import { message } from "../messages.ts";
import type { AccountPages } from "./account-pages.ts";
import type { EmailChangeTable } from "./email-change-table.ts";
import type { GuardUsers } from "./guard-users.ts";

/** What is said of an address that another account has, or can still take back: which of the two does not show. */
export const TAKEN: Message = message("auth.email.taken");

/** Thrown to roll back what has given an account an address that another one can still take back. */
export class ReservedAddress extends Error {}

/** What {@link ReservedAddresses} works with. */
export interface ReservedAddressesParts {
  readonly users: GuardUsers;
  readonly pages: AccountPages;
  readonly emailChanges: EmailChangeTable;
}

/** Knows which addresses cannot become an account's. */
export class ReservedAddresses {
  readonly #parts: ReservedAddressesParts;

  constructor(parts: ReservedAddressesParts) {
    this.#parts = parts;
  }

  /**
   * Tells whether an address cannot become an account's, because another account has it or can still take it back.
   *
   * @param user the account that wants the address; `null` for one that is being registered
   */
  async isTaken(guard: string, email: string, user: AccountUser | null): Promise<boolean> {
    // Always both, so that the time it takes does not tell which one it was.
    const owner = await this.#parts.users.of(guard).findByEmail(email);
    const reserved = await this.#isReserved(guard, email, user);
    return owner !== null || reserved;
  }

  /**
   * Refuses an address that an account has just been given, if another one can still take it back.
   *
   * Security: call it after the write and in the same transaction. Before the write is too early: the unique index makes
   * the write wait for a change of address that is about to free this one, and only then is that change there to be found.
   *
   * @param user as for {@link isTaken}
   * @throws `ReservedAddress`
   */
  async refuseReserved(guard: string, email: string, user: AccountUser | null): Promise<void> {
    if (await this.#isReserved(guard, email, user)) throw new ReservedAddress();
  }

  /**
   * An address stays reserved for the account that had verified it for as long as the change can be undone: otherwise a
   * thief could register the address that was freed, and the owner's link would come to nothing.
   */
  async #isReserved(guard: string, email: string, user: AccountUser | null): Promise<boolean> {
    const { users, pages, emailChanges } = this.#parts;
    const guards = users.guardsKeeping(users.of(guard));
    // Without a page to undo a change on, no address can be changed, and there need not be a table.
    if (!guards.some((name) => pages.has(name, "email.undo"))) return false;
    return emailChanges.isReserved(email, guards, user === null ? null : user.authId());
  }
}
