import {
  type BatchTable,
  type Database,
  dateOf,
  hasTable,
  type Model,
  type Row,
  sql,
} from "../../../database/index.ts";
import { digest, isSameEmail } from "../../../security/index.ts";
import { currentDate } from "../../../support/index.ts";
import type { UserModelClass } from "../../models/joinable-users.ts";
import type { Authenticatable } from "../../users/authenticatable.ts";

/** A column name for a reset's address that no user table has. */
const ADDRESS = "__reset_email";

/** What was found for an address, which must still be true when its reset is stored. */
export interface AddressFinding {
  /** The table of the users; `null` if one statement cannot use both it and the table of resets. */
  readonly users: { readonly table: string; readonly closedColumn: string | null } | null;
  readonly email: string;
  /** Whether one of the users has the address. */
  readonly isKnown: boolean;
}

/**
 * The table of password resets: at most one row for each address and guard, with the digest of the latest link's token,
 * never the token itself.
 */
export class PasswordResetTable {
  readonly #database: () => Database;
  readonly #table: string;
  readonly #expiresInMinutes: number | null;

  /**
   * @param table its name
   * @param expiresInMinutes how long a reset can be used; `null` if it never expires
   */
  constructor(database: () => Database, table: string, expiresInMinutes: number | null) {
    this.#database = database;
    this.#table = table;
    this.#expiresInMinutes = expiresInMinutes;
  }

  /**
   * Stores the reset of an address, replacing any older one of the same guard, with one statement, so that the latest
   * of several is kept.
   *
   * @param finding the result of the lookup; if it no longer holds, for example because the user was deleted, nothing
   * is stored
   */
  async replace(guard: string, email: string, token: string, finding: AddressFinding): Promise<void> {
    const created_at = currentDate();
    const minutes = this.#expiresInMinutes;
    const expires_at = minutes === null ? null : new Date(created_at.getTime() + minutes * 60_000);
    const changes = { token: digest(token), created_at, expires_at };
    const replacement = this.#database()
      .connection()
      .writes.upsert({
        table: this.#table,
        values: { guard, email, ...changes },
        onlyIf: this.#stillHolds(finding),
        key: ["guard", "email"],
        changes,
        returning: [],
      });
    await replacement({});
  }

  /** The same SQL for known and unknown addresses: the time it takes must not reveal the difference. */
  #stillHolds({ users, email, isKnown }: AddressFinding) {
    if (users === null) return sql<boolean>`1 = 1`;
    const { kysely, dialect } = this.#database();
    const rows = kysely.selectFrom(users.table).select("email").where("email", "=", email);
    const owner = users.closedColumn === null ? rows : rows.where(users.closedColumn, "is", null);
    // Waits for a concurrent deletion, instead of using the old row.
    const locked = dialect.transactions.lockRows(owner, "reference");
    return sql<boolean>`exists (select 1 from ${locked.as("owner")}) = ${isKnown}`;
  }

  /**
   * A user by primary key, if a token was sent to the user's address and can still be used: one statement instead of
   * the two that {@link addressOf} and the user's class need.
   *
   * @param users a class that `isJoinable` accepts
   */
  async ownerOf(token: string, users: UserModelClass, id: string): Promise<(Model & Authenticatable) | null> {
    const resets = this.#table;
    const row = await this.#database()
      .kysely.selectFrom(users.table)
      .innerJoin(resets, (on) => on.on(`${resets}.token`, "=", digest(token)))
      .selectAll(users.table)
      .select(`${resets}.email as ${ADDRESS}`)
      .where(`${users.table}.${users.primaryKey}`, "=", id)
      .where((is) => is.or([is(`${resets}.expires_at`, "is", null), is(`${resets}.expires_at`, ">", currentDate())]))
      .executeTakeFirst();
    if (row === undefined) return null;
    const { [ADDRESS]: email, ...own } = row as Row;
    const user = users.fromRow(own);
    // Compared here, because a column or a key may treat different texts as equal.
    const { email: address } = user as { readonly email?: unknown };
    return String(user.authId()) === id && isSameEmail(String(address), String(email)) ? user : null;
  }

  /** The address that a token was sent to, provided that the token can still be used. */
  async addressOf(token: string): Promise<string | null> {
    const row = await this.#database()
      .kysely.selectFrom(this.#table)
      .select("email")
      .where("token", "=", digest(token))
      .where((is) => is.or([is("expires_at", "is", null), is("expires_at", ">", currentDate())]))
      .executeTakeFirst();
    return row === undefined ? null : String(row.email);
  }

  /**
   * Uses a token up. One statement decides between parallel uses: a read followed by a write would let both win.
   *
   * @returns whether it could still be used
   */
  async consume(token: string): Promise<boolean> {
    const { numDeletedRows } = await this.#database()
      .kysely.deleteFrom(this.#table)
      .where("token", "=", digest(token))
      .where((is) => is.or([is("expires_at", "is", null), is("expires_at", ">", currentDate())]))
      .executeTakeFirst();
    return numDeletedRows === 1n;
  }

  /** The resets of addresses, for an export. */
  async list(guards: readonly string[], emails: readonly string[]): Promise<readonly Row[]> {
    if (guards.length === 0 || emails.length === 0 || (await this.rows()) === null) return [];
    const columns = ["guard", "email", "created_at", "expires_at"] as const;
    const query = this.#database().kysely.selectFrom(this.#table).select(columns).where("guard", "in", guards);
    const rows = (await query.where("email", "in", emails).execute()) as Row[];
    const dateOrNull = (time: unknown) => (time === null ? null : dateOf(time));
    return rows.map((row) => ({ ...row, created_at: dateOf(row.created_at), expires_at: dateOrNull(row.expires_at) }));
  }

  /** Deletes the resets of addresses. Takes part in the current transaction, if there is one. */
  async delete(guards: readonly string[], emails: readonly string[]): Promise<void> {
    if (guards.length === 0 || emails.length === 0 || (await this.rows()) === null) return;
    const query = this.#database().kysely.deleteFrom(this.#table).where("guard", "in", guards);
    await query.where("email", "in", emails).execute();
  }

  /** The table, for going through its rows; `null` if the application has no such table. */
  async rows(): Promise<BatchTable | null> {
    const { kysely } = this.#database();
    return (await hasTable(this.#database(), this.#table)) ? { kysely, table: this.#table, key: "token" } : null;
  }
}
