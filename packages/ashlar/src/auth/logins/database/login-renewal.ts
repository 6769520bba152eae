import { CONFLICT_RETRIES, type Connection, type Database, type Row } from "../../../database/index.ts";
import type { LoginProof } from "../../access/access-epoch.ts";
import { provesByRow, userAsProved } from "../../credentials/proven-insert.ts";
import type { UserModelClass } from "../../models/joinable-users.ts";
import type { AuthenticatableClass } from "../../users/authenticatable.ts";
import type { RenewedLogin } from "../login-store.ts";
import type { RenewedColumns } from "./database-logins.ts";

/**
 * Gives logins new tokens, based on a proof for a user as read. Nothing is written once the user's row is gone, or
 * access to the account has ended since: a confirmation in progress does not survive a password reset.
 */
export class LoginRenewals {
  readonly #connection: Connection;
  readonly #table: string;
  /** The users whose rows can be checked in the same statement. */
  readonly #users: UserModelClass | null;

  /** @param table the name of the table of logins */
  constructor(database: Database, table: string, users: AuthenticatableClass) {
    this.#connection = database.connection();
    this.#table = table;
    this.#users = provesByRow(database, users) ? users : null;
  }

  /**
   * @param changes the new token, and what changes with it
   * @returns whether the proof still held, and the login existed with the old token
   */
  async renew(login: RenewedLogin, changes: RenewedColumns, proof: LoginProof): Promise<boolean> {
    const users = this.#users;
    if (users === null) return this.#compare(login, changes, proof);
    const query = this.#renewing(login, changes, proof);
    const renewed = query.where(({ exists }) => exists(userAsProved(this.#connection, users, proof)));
    return (await renewed.executeTakeFirst()).numUpdatedRows > 0n;
  }

  /** For users of any other class, or in another database: the write is undone if the proof no longer holds. */
  async #compare(login: RenewedLogin, changes: RenewedColumns, proof: LoginProof): Promise<boolean> {
    const replace = () => this.#replace(login, changes, proof);
    const former = await this.#connection.transaction(replace, { retries: CONFLICT_RETRIES });
    if (former === null) return false;
    if (await proof.holds()) return true;
    await this.#connection.kysely
      .updateTable(this.#table)
      .set(former)
      // Only replaces its own token, which no other login has, because another request may have replaced it since.
      .where("token_hash", "=", changes.token_hash)
      .execute();
    return false;
  }

  /** Writes the new token, and returns the replaced one; `null` if the login doesn't exist. */
  async #replace(login: RenewedLogin, changes: RenewedColumns, proof: LoginProof): Promise<Row | null> {
    const { kysely, dialect } = this.#connection;
    const query = kysely.selectFrom(this.#table).select(Object.keys(changes)).where("id", "=", login.id);
    const former = await dialect.transactions.lockRows(query, "change").executeTakeFirst();
    const { numUpdatedRows } = await this.#renewing(login, changes, proof).executeTakeFirst();
    return former !== undefined && numUpdatedRows > 0n ? former : null;
  }

  /** The statement that replaces the token that an owner's login has, in the access epoch of the proof. */
  #renewing({ id, guard, userId, tokenHash }: RenewedLogin, changes: RenewedColumns, { accessEpoch }: LoginProof) {
    return this.#connection.kysely
      .updateTable(this.#table)
      .set(changes)
      .where("id", "=", id)
      .where("guard", "=", guard)
      .where("user_id", "=", userId)
      .where("token_hash", "=", tokenHash)
      .where("access_epoch", "=", accessEpoch);
  }
}
