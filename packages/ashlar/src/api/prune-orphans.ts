import { type AuthenticatableClass, existingUsers } from "../auth/index.ts";
import { type Row, visitInBatches } from "../database/index.ts";

/**
 * Deletes the tokens of users that no longer exist.
 *
 * @param table with the columns `guard` and `user_id`
 * @param drivers the drivers whose tokens it has, by name
 * @returns how many
 */
export async function pruneOrphans(
  table: Parameters<typeof visitInBatches>[0],
  drivers: ReadonlyMap<string, { readonly model: AuthenticatableClass }>,
  signal: AbortSignal | undefined,
): Promise<number> {
  let deleted = 0;
  const visit = async (batch: readonly Row[]): Promise<void> => {
    const orphans: unknown[] = [];
    for (const [guard, own] of Map.groupBy(batch, (row) => String(row.guard))) {
      const model = drivers.get(guard)?.model;
      const ids = [...new Set(own.map((row) => row.user_id))];
      const existing = model === undefined ? null : await existingUsers(model, "id", ids);
      if (existing === null) continue;
      const known = new Set(existing);
      orphans.push(...own.filter((row) => !known.has(String(row.user_id))).map((row) => row.id));
    }
    if (orphans.length === 0) return;
    const query = table.kysely.deleteFrom(table.table).where("id", "in", orphans);
    deleted += Number((await query.executeTakeFirst()).numDeletedRows);
  };
  await visitInBatches(table, ["guard", "user_id"], visit, signal);
  return deleted;
}
