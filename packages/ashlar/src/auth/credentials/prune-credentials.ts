import { type BatchTable, dateOf, deleteInBatches, type Row, sql, visitInBatches } from "../../database/index.ts";
import { existingUsers } from "../models/model-accounts.ts";
import type { AuthenticatableClass, UserId } from "../users/authenticatable.ts";

/** Which credentials are deleted, and how. */
export interface CredentialPruning {
  /** Credentials that ended at or before this time are deleted. */
  readonly endedBefore: Date;
  /**
   * Returns which of the given users of a guard exist, as text; `null` if that cannot be determined. The credentials of
   * all others are deleted. A few hundred are queried at a time. Default: looks for the users of the table's own guard,
   * and leaves the credentials of others.
   */
  readonly existingUsers?: (guard: string, userIds: readonly UserId[]) => Promise<ReadonlySet<string> | null>;
  /** Stops pruning as soon as possible; the rest is pruned the next time. */
  readonly signal?: AbortSignal | undefined;
}

type ExistingUsers = NonNullable<CredentialPruning["existingUsers"]>;

/** Finds the users of one guard. */
export function usersOf(guard: string, users: AuthenticatableClass): ExistingUsers {
  return async (name, ids) => {
    const found = name === guard ? await existingUsers(users, "id", ids) : null;
    return found === null ? null : new Set(found);
  };
}

/**
 * Deletes the credentials of a table that ended a while ago, and those of users that no longer exist.
 *
 * @returns how many
 */
export async function pruneCredentials(
  table: BatchTable,
  { endedBefore, existingUsers: existing, signal }: CredentialPruning & { readonly existingUsers: ExistingUsers },
): Promise<number> {
  const ended = await deleteInBatches(table, (is) => is("expires_at", "<=", endedBefore), signal);
  return ended + (await pruneOrphans(table, "user_id", existing, signal));
}

/**
 * Deletes the rows whose owner no longer exists. Credentials stay if their guard's users can't be determined.
 *
 * @param table the table, which has the column `guard`
 * @param owner the column that names the owner
 * @returns how many
 */
export async function pruneOrphans<Owner>(
  table: BatchTable,
  owner: string,
  existing: (guard: string, owners: readonly Owner[]) => Promise<ReadonlySet<string> | null>,
  signal?: AbortSignal,
): Promise<number> {
  const { kysely, table: name, key } = table;
  let deleted = 0;
  const visit = async (batch: readonly Row[]): Promise<void> => {
    const orphans: unknown[] = [];
    for (const [guard, own] of Map.groupBy(batch, (row) => String(row.guard))) {
      const known = await existing(guard, [...new Set(own.map((row) => row[owner] as Owner))]);
      if (known !== null) orphans.push(...own.filter((row) => !known.has(String(row[owner]))).map((row) => row[key]));
    }
    if (orphans.length === 0) return;
    const query = kysely.deleteFrom(name).where(key, "in", orphans);
    deleted += Number((await query.executeTakeFirst()).numDeletedRows);
  };
  await visitInBatches(table, ["guard", owner], visit, signal);
  return deleted;
}

/**
 * Empties columns of credentials that were last used, or if they never were, created, at or before a time.
 *
 * @returns how many credentials had any of them
 */
export async function forgetUnused(
  table: BatchTable,
  columns: readonly string[],
  unusedSince: Date,
  signal?: AbortSignal,
): Promise<number> {
  const { kysely, table: name, key } = table;
  const nothing = Object.fromEntries(columns.map((column) => [column, null]));
  let forgotten = 0;
  const visit = async (batch: readonly Row[]): Promise<void> => {
    const old = batch.filter(
      (row) =>
        columns.some((column) => row[column] !== null) && dateOf(row.last_used_at ?? row.created_at) <= unusedSince,
    );
    if (old.length === 0) return;
    const keys = old.map((row) => row[key]);
    const { numUpdatedRows } = await kysely
      .updateTable(name)
      .set(nothing)
      .where(key, "in", keys)
      // It may have been used since.
      .where(sql`coalesce(last_used_at, created_at)`, "<=", unusedSince)
      .executeTakeFirst();
    forgotten += Number(numUpdatedRows);
  };
  await visitInBatches(table, [...columns, "last_used_at", "created_at"], visit, signal);
  return forgotten;
}
