import { type BatchTable, deleteInBatches } from "../../database/index.ts";
import { now } from "../../support/index.ts";
import { pruneOrphans } from "../credentials/prune-credentials.ts";
import type { LoginStores } from "../logins/login-stores.ts";
import type { ClosedAccountRemoval } from "./access/closed-account-removal.ts";
import type { EmailChangeTable } from "./addresses/email-change-table.ts";
import type { SecurityEventsTable } from "./history/security-events-table.ts";
import type { CompleteAccountsSettings } from "./mails/settings.ts";
import type { PasswordResetTable } from "./passwords/password-reset-table.ts";
import type { GuardUsers } from "./users/guard-users.ts";

const DAY_MS = 86_400_000;

/** The column by which a row identifies its user. */
type OwnerColumn = "user_id" | "email";

/** The dependencies of {@link AccountPruning}. */
export interface AccountPruningDependencies {
  readonly users: GuardUsers;
  readonly logins: LoginStores;
  readonly resets: PasswordResetTable;
  readonly emailChanges: EmailChangeTable;
  readonly securityEvents: SecurityEventsTable;
  readonly retention: CompleteAccountsSettings["retention"];
  readonly removal: ClosedAccountRemoval;
  /** Reports whether the application has a database. */
  readonly hasDatabase: () => boolean;
}

/** Deletes data about users that must no longer be kept. */
export class AccountPruning {
  readonly #dependencies: AccountPruningDependencies;

  constructor(dependencies: AccountPruningDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Removes closed accounts whose grace period is over. Deletes data that `ACCOUNTS.retention` no longer keeps, and data of users that no longer exist, a few rows at a
   * time. A user's `delete()` leaves nothing behind; a query that deletes users does, and so does a deletion in SQL.
   *
   * @param signal stops it after the current batch
   * @returns how many rows were deleted, by their kind, for kinds of which the application has tables
   */
  async prune(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const { logins: stores, resets, emailChanges, removal, retention, hasDatabase } = this.#dependencies;
    const { addressDays, loginDays, linkDays } = retention;
    const pruned: Record<string, number> = {};
    // First, so that nothing of them is left for the rest.
    const closed = hasDatabase() ? await removal.prune(signal) : null;
    if (closed !== null) pruned["closed accounts"] = closed;
    for (const store of stores.all) {
      const { logins, addresses } = await store.prune({
        endedBefore: daysAgo(loginDays),
        unusedSince: daysAgo(addressDays),
        existingUsers: (guard, userIds) => this.#known(guard, "user_id", userIds),
        signal,
      });
      pruned.logins = (pruned.logins ?? 0) + logins;
      pruned["addresses of unused logins"] = (pruned["addresses of unused logins"] ?? 0) + addresses;
    }
    if (!hasDatabase()) return pruned;
    const links: readonly [string, BatchTable | null, OwnerColumn][] = [
      ["password resets", await resets.rows(), "email"],
      ["changes of address", await emailChanges.rows(), "user_id"],
    ];
    for (const [what, rows, owner] of links) {
      if (rows === null) continue;
      const expired = await deleteInBatches(rows, (is) => is("expires_at", "<=", daysAgo(linkDays)), signal);
      const existing = (guard: string, values: readonly unknown[]) => this.#known(guard, owner, values);
      pruned[what] = expired + (await pruneOrphans(rows, owner, existing, signal));
    }
    return { ...pruned, ...(await this.#pruneEvents(signal)) };
  }

  /** Deletes old events, and those of missing users, and empties the addresses and user agents of others. */
  async #pruneEvents(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const { retention, securityEvents } = this.#dependencies;
    const rows = await securityEvents.rows();
    if (rows === null) return {};
    const expired = await deleteInBatches(rows, (is) => is("created_at", "<=", daysAgo(retention.eventDays)), signal);
    const existing = (guard: string, values: readonly unknown[]) => this.#known(guard, "user_id", values);
    const deleted = expired + (await pruneOrphans(rows, "user_id", existing, signal));
    const unusedSince = daysAgo(retention.addressDays);
    const forgotten = await securityEvents.forgetAddresses(unusedSince, signal);
    return { "security events": deleted, "addresses of security events": forgotten };
  }

  /** Returns which of the given owners exist; `null` if that cannot be determined. */
  async #known(guard: string, owner: OwnerColumn, values: readonly unknown[]): Promise<ReadonlySet<string> | null> {
    const found = await this.#dependencies.users.existing(guard, owner === "email" ? "email" : "id", values);
    return found === null ? null : new Set(found);
  }
}

function daysAgo(days: number): Date {
  return new Date(now() - days * DAY_MS);
}
