import type { Database } from "../../database/index.ts";
import { digest } from "../../security/index.ts";
import { currentDate } from "../../support/index.ts";

/**
 * The table of password resets: at most one row for each address and guard, which holds the digest of the latest link's token, never
 * the token itself.
 */
export class PasswordResets {
  readonly #database: Database;
  readonly #table: string;
  readonly #expiresInMinutes: number | null;

  /**
   * @param table its name
   * @param expiresInMinutes how long a reset can be used; `null`: for ever
   */
  constructor(database: Database, table: string, expiresInMinutes: number | null) {
    this.#database = database;
    this.#table = table;
    this.#expiresInMinutes = expiresInMinutes;
  }

  /**
   * Stores the reset of an address in place of any older one of the same guard: by one statement, so that the last of
   * several counts.
   */
  async replace(guard: string, email: string, token: string): Promise<void> {
    const created_at = currentDate();
    const minutes = this.#expiresInMinutes;
    const expires_at = minutes === null ? null : new Date(created_at.getTime() + minutes * 60_000);
    const values = { token: digest(token), created_at, expires_at };
    await this.#database.kysely
      .insertInto(this.#table)
      .values({ guard, email, ...values })
      .onConflict((conflict) => conflict.columns(["guard", "email"]).doUpdateSet(values))
      .execute();
  }

  /** The address that a token was sent to, provided that it can still be used. */
  async addressOf(token: string): Promise<string | null> {
    const row = await this.#database.kysely
      .selectFrom(this.#table)
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
    const { numDeletedRows } = await this.#database.kysely
      .deleteFrom(this.#table)
      .where("token", "=", digest(token))
      .where((is) => is.or([is("expires_at", "is", null), is("expires_at", ">", currentDate())]))
      .executeTakeFirst();
    return numDeletedRows === 1n;
  }

  /**
   * Deletes the resets that have expired.
   *
   * @returns how many there were; `null` where the application has no such table
   */
  async prune(): Promise<number | null> {
    const { kysely } = this.#database;
    const tables = await kysely.introspection.getTables();
    if (!tables.some(({ name }) => name === this.#table)) return null;
    const query = kysely.deleteFrom(this.#table).where("expires_at", "<=", currentDate());
    return Number((await query.executeTakeFirst()).numDeletedRows);
  }
}
