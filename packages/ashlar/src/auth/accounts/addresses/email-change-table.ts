import { type BatchTable, type Database, dateOf, hasTable, type Row } from "../../../database/index.ts";
import { digest, normalizeEmail, spellingsOfEmail } from "../../../security/index.ts";
import { currentDate } from "../../../support/index.ts";
import type { UserId } from "../../users/authenticatable.ts";
import { UNDO_EXPIRES_IN_HOURS } from "../links/account-links.ts";

/** The table of changes of address. */
export const EMAIL_CHANGE_TABLE = "email_changes";
const TABLE = EMAIL_CHANGE_TABLE;

/** A change of address that can be undone. */
export interface StoredEmailChange {
  readonly id: number | bigint | string;
  readonly guard: string;
  /** The user's primary key, as text. */
  readonly userId: string;
  /** The address before the change. */
  readonly email: string;
  readonly createdAt: Date;
  /** Whether no other account could take the address in the meantime. */
  readonly isReserved: boolean;
}

/**
 * The table of address changes: one row for each, for as long as it can be undone. During that time, an old address
 * that was verified is reserved for the account. The table contains the digest of the token that was mailed to the old
 * address, never the token itself.
 */
export class EmailChangeTable {
  readonly #database: () => Database;

  constructor(database: () => Database) {
    this.#database = database;
  }

  /**
   * Stores a change. Called while the user's row is locked, or before a change that is withdrawn if it fails: in both
   * cases, the keys are in the order of the changes, because each change requires the access epoch set by the previous
   * one.
   *
   * @param isReserved whether no other account can take the old address in the meantime
   */
  async record(guard: string, userId: UserId, email: string, token: string, isReserved: boolean): Promise<void> {
    const created_at = currentDate();
    const expires_at = new Date(created_at.getTime() + UNDO_EXPIRES_IN_HOURS * 3_600_000);
    const reserved_until = isReserved ? expires_at : null;
    await this.#database()
      .kysely.insertInto(TABLE)
      .values({ guard, user_id: userId, email, token: digest(token), created_at, expires_at, reserved_until })
      .execute();
  }

  /** Removes a change that was stored but not made. */
  async withdraw(token: string): Promise<void> {
    await this.#database().kysely.deleteFrom(TABLE).where("token", "=", digest(token)).execute();
  }

  /**
   * Reports whether an address is reserved for an account that can still reclaim it by undoing a change.
   *
   * @param guards the guards with users in the same table
   * @param userId the account that is allowed to have the address: its own changes are ignored; `null` for none
   */
  async isReserved(email: string, guards: readonly string[], userId: UserId | null): Promise<boolean> {
    const rows = await this.#reservations(email, guards).select("user_id").execute();
    return rows.some((row) => userId === null || String(row.user_id) !== String(userId));
  }

  /**
   * Like {@link isReserved}, but also checks in the same statement whether a user in a table next to this one has the
   * address.
   *
   * @param users the table of the users, and the column that marks closed accounts
   */
  async isReservedOrOwned(
    email: string,
    guards: readonly string[],
    userId: UserId | null,
    users: { readonly table: string; readonly closedColumn: string | null },
  ): Promise<boolean> {
    const { kysely } = this.#database();
    const { table, closedColumn } = users;
    const rows = kysely.selectFrom(table).select("email").where("email", "in", spellingsOfEmail(email));
    const owned = closedColumn === null ? rows : rows.where(closedColumn, "is", null);
    const reserved = this.#reservations(email, guards).select("user_id");
    const others = userId === null ? reserved : reserved.where("user_id", "!=", userId);
    const query = kysely.selectNoFrom(({ exists }) => [exists(owned).as("is_owned"), exists(others).as("is_reserved")]);
    const found = await query.executeTakeFirstOrThrow();
    // SQLite has no booleans.
    return Number(found.is_owned) === 1 || Number(found.is_reserved) === 1;
  }

  #reservations(email: string, guards: readonly string[]) {
    return this.#database()
      .kysely.selectFrom(TABLE)
      .where("email", "in", spellingsOfEmail(email))
      .where("guard", "in", guards)
      .where("reserved_until", ">", currentDate());
  }

  /** The change that a token undoes, provided that it can still be undone. */
  async find(token: string): Promise<StoredEmailChange | null> {
    const row = await this.#database()
      .kysely.selectFrom(TABLE)
      .select(["id", "guard", "user_id", "email", "created_at", "reserved_until"])
      .where("token", "=", digest(token))
      .where("expires_at", ">", currentDate())
      .executeTakeFirst();
    if (row === undefined) return null;
    return {
      id: row.id as StoredEmailChange["id"],
      guard: String(row.guard),
      userId: String(row.user_id),
      email: normalizeEmail(String(row.email)) ?? String(row.email),
      createdAt: dateOf(row.created_at),
      isReserved: row.reserved_until !== null,
    };
  }

  /**
   * Uses up a change and all later ones, so that a link mailed to a thief can't restore the thief's later changes.
   * Earlier changes stay, so that the first address can always be restored.
   *
   * @returns whether it could still be undone: `true` for only one of parallel uses
   */
  async consume({ id, guard, userId }: StoredEmailChange): Promise<boolean> {
    const { kysely } = this.#database();
    const { numDeletedRows } = await kysely.deleteFrom(TABLE).where("id", "=", id).executeTakeFirst();
    if (numDeletedRows !== 1n) return false;
    const later = kysely.deleteFrom(TABLE).where("guard", "=", guard).where("user_id", "=", userId);
    await later.where("id", ">", id).execute();
    return true;
  }

  /** The addresses that are reserved for a user. An address that is not reserved may belong to another user by now. */
  async reservedFor(guards: readonly string[], userId: UserId): Promise<readonly string[]> {
    const rows = await this.#rowsOf(guards, userId, ["email", "reserved_until"]);
    const now = currentDate();
    return rows.flatMap(({ email, reserved_until: end }) => (end !== null && dateOf(end) > now ? [String(email)] : []));
  }

  /** The changes of a user, for an export. */
  async list(guards: readonly string[], userId: UserId): Promise<readonly Row[]> {
    const rows = await this.#rowsOf(guards, userId, ["guard", "email", "created_at", "expires_at"]);
    return rows.map((row) => ({ ...row, created_at: dateOf(row.created_at), expires_at: dateOf(row.expires_at) }));
  }

  async #rowsOf(guards: readonly string[], userId: UserId, columns: readonly string[]): Promise<readonly Row[]> {
    if (guards.length === 0 || (await this.rows()) === null) return [];
    const query = this.#database()
      .kysely.selectFrom(TABLE)
      .select([...columns])
      .where("guard", "in", guards);
    return (await query.where("user_id", "=", userId).orderBy("id").execute()) as Row[];
  }

  /**
   * Deletes the changes of a user, and other users' changes that contain the user's address and can no longer be
   * undone. Takes part in the current transaction, if there is one.
   *
   * @param email the user's current address; `null` if it is unknown
   */
  async delete(guards: readonly string[], userId: UserId, email: string | null): Promise<void> {
    if (guards.length === 0 || (await this.rows()) === null) return;
    const { kysely } = this.#database();
    const all = kysely.deleteFrom(TABLE).where("guard", "in", guards);
    await all.where("user_id", "=", userId).execute();
    if (email === null) return;
    await all.where("email", "=", email).where("expires_at", "<=", currentDate()).execute();
  }

  /** The table, for going through its rows; `null` if the application has no such table. */
  async rows(): Promise<BatchTable | null> {
    const { kysely } = this.#database();
    return (await hasTable(this.#database(), TABLE)) ? { kysely, table: TABLE, key: "id" } : null;
  }
}
