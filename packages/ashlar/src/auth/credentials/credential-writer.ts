import type { BatchCondition } from "../../database/index.ts";
import type { UserId } from "../users/authenticatable.ts";
import type { CredentialTableOptions } from "./credential.ts";
import { type CredentialShape, canMatch, type Filterable, isKey, unrevoked, withValues } from "./credential-shape.ts";

/** The rows that a {@link CredentialWriter} writes. */
type WriterOptions = Pick<CredentialTableOptions<object>, "database" | "guard" | "table" | "keepsRevoked" | "only">;

/** Changes and deletes one guard's credentials, each time with one conditional statement. */
export class CredentialWriter {
  readonly #options: WriterOptions;
  readonly #shape: CredentialShape<object>;

  constructor(options: WriterOptions, shape: CredentialShape<object>) {
    this.#options = options;
    this.#shape = shape;
  }

  /**
   * Changes the credential that meets the conditions.
   *
   * @returns whether there was one, and it was not revoked
   */
  async change(where: object, changes: object): Promise<boolean> {
    if (!canMatch(where)) return false;
    const query = this.#options.database.kysely.updateTable(this.#options.table).set(this.#shape.stored(changes));
    return (await this.#own(query, { ...unrevoked(this.#options), ...where }).executeTakeFirst()).numUpdatedRows > 0n;
  }

  /** Records a use. A row that is kept after its revocation still gets a use from before it. */
  async touch(id: string, at: Date): Promise<void> {
    if (!isKey(id)) return;
    const query = this.#options.database.kysely.updateTable(this.#options.table).set({ last_used_at: at });
    await this.#own(query, { id }).execute();
  }

  /** Deletes the row that meets the conditions, and returns whether there was one. */
  async delete(where: object): Promise<boolean> {
    if (!canMatch(where)) return false;
    return (await this.#own(this.#deletion(), where).executeTakeFirst()).numDeletedRows > 0n;
  }

  /**
   * Deletes the oldest of a user's credentials that meet a condition.
   *
   * @param keep how many of the newest credentials stay
   * @returns how many were deleted
   */
  async deleteOldest(userId: UserId, keep: number, condition: BatchCondition): Promise<number> {
    const { kysely } = this.#options.database;
    const rows = this.#own(kysely.selectFrom(this.#options.table), { user_id: userId }).where(condition);
    // A derived table: some databases don't delete from a table that a subquery of the condition reads.
    const surplus = rows.select("id").orderBy("id", "desc").limit(1).offset(keep).as("surplus");
    const oldest = this.#own(this.#deletion(), { user_id: userId })
      .where(condition)
      .where("id", "<=", kysely.selectFrom(surplus).select("surplus.id"));
    return Number((await oldest.executeTakeFirst()).numDeletedRows);
  }

  /**
   * Deletes all credentials of a user.
   *
   * @param except the key of the credential that stays
   * @returns how many were deleted
   */
  async deleteAll(userId: UserId, except: string | null): Promise<number> {
    const all = this.#own(this.#deletion(), { user_id: userId });
    const query = except === null ? all : all.where("id", "!=", except);
    return Number((await query.executeTakeFirst()).numDeletedRows);
  }

  #deletion() {
    return this.#options.database.kysely.deleteFrom(this.#options.table);
  }

  /** Limits a query to credentials of this guard and kind with these values. */
  #own<Query extends Filterable>(query: Query, values: object): Query {
    const { guard, only } = this.#options;
    // These come last, so values that name another guard, or another kind, can't reach its rows.
    return withValues(query, { ...values, ...only, guard });
  }
}
