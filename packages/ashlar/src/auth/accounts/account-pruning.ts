import { type BatchTable, deleteInBatches, type Row, visitInBatches } from "../../database/index.ts";
import { now } from "../../support/index.ts";
import type { LoginStores } from "../logins/login-stores.ts";
import type { EmailChangeTable } from "./email-change-table.ts";
import type { GuardUsers } from "./guard-users.ts";
import type { PasswordResetTable } from "./password-reset-table.ts";
import type { CompleteAccountsSettings } from "./settings.ts";

const DAY_MS = 86_400_000;

/** What a row knows its user by. */
type OwnerColumn = "user_id" | "email";

/** What {@link AccountPruning} works with. */
export interface AccountPruningParts {
  readonly users: GuardUsers;
  readonly logins: LoginStores;
  readonly resets: PasswordResetTable;
  readonly emailChanges: EmailChangeTable;
  readonly retention: CompleteAccountsSettings["retention"];
  /** Tells whether the application has a database. */
  readonly hasDatabase: () => boolean;
}

/** Deletes what is no longer to be kept of users. */
export class AccountPruning {
  readonly #parts: AccountPruningParts;

  constructor(parts: AccountPruningParts) {
    this.#parts = parts;
  }

  /**
   * Deletes what `ACCOUNTS.retention` no longer keeps, and what belongs to users that are gone, a few rows at a time. A
   * user's `delete()` leaves nothing of the latter; a query that deletes users does, and a deletion in SQL.
   *
   * @param signal stops it after the current batch
   * @returns how many rows there were, by what they are, as far as the application has tables of it
   */
  async prune(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const { logins: stores, resets, emailChanges, retention, hasDatabase } = this.#parts;
    const { addressDays, loginDays, linkDays } = retention;
    const pruned: Record<string, number> = {};
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
      pruned[what] = expired + (await this.#pruneOrphans(rows, owner, signal));
    }
    return pruned;
  }

  /** Deletes the rows whose user is gone. Those of a guard that is not this application's, or whose users no model has, stay. */
  async #pruneOrphans(rows: BatchTable, owner: OwnerColumn, signal: AbortSignal | undefined): Promise<number> {
    const { kysely, table, key } = rows;
    let deleted = 0;
    const visit = async (batch: readonly Row[]): Promise<void> => {
      const orphans: unknown[] = [];
      for (const [guard, own] of Map.groupBy(batch, (row) => String(row.guard))) {
        const known = await this.#known(guard, owner, [...new Set(own.map((row) => row[owner]))]);
        if (known !== null) orphans.push(...own.filter((row) => !known.has(String(row[owner]))).map((row) => row[key]));
      }
      if (orphans.length === 0) return;
      const query = kysely.deleteFrom(table).where(key, "in", orphans);
      deleted += Number((await query.executeTakeFirst()).numDeletedRows);
    };
    await visitInBatches(rows, ["guard", owner], visit, signal);
    return deleted;
  }

  /** Of some owners, those that are there; `null` if that cannot be told. */
  async #known(guard: string, owner: OwnerColumn, values: readonly unknown[]): Promise<ReadonlySet<string> | null> {
    const found = await this.#parts.users.existing(guard, owner === "email" ? "email" : "id", values);
    return found === null ? null : new Set(found);
  }
}

function daysAgo(days: number): Date {
  return new Date(now() - days * DAY_MS);
}
