import {
  type Authenticatable,
  type AuthenticatableClass,
  accessEpochOf,
  ProvenInsert,
  proofOf,
  type UserId,
} from "../../auth/index.ts";
import { CONFLICT_RETRIES, type Database, parameter } from "../../database/index.ts";
import { currentDate, isThenable, type MaybePromise } from "../../support/index.ts";
import { type FoundWithUser, finderWithUser } from "../found-with-user.ts";
import { type ReplacedToken, replacedColumn, TOKEN_COLUMNS, TOKEN_TABLE, TokenRow } from "./token-row.ts";

/** A token that was found together with its user. */
export interface FoundToken {
  readonly row: TokenRow;
  /** `null` if the user no longer exists. */
  readonly user: Authenticatable | null;
}

/** A token to be stored. */
export interface NewToken {
  readonly name: string;
  readonly abilities: string | null;
  readonly family: string;
  readonly tokenHash: string;
  readonly device: string | null;
  readonly expiresAt: Date;
  readonly createdAt: Date;
}

/** A refresh token that replaces the one in a row. */
export interface Rotation {
  readonly tokenHash: string;
  readonly replaced: readonly ReplacedToken[];
  readonly device: string | null;
  readonly expiresAt: Date;
  readonly at: Date;
}

/** A use of a token, to be recorded. */
export interface TokenUse {
  readonly guard: string;
  readonly id: string;
  readonly at: Date;
}

const INSERT = {
  table: TOKEN_TABLE,
  values: {
    user_id: parameter("userId"),
    guard: parameter("guard"),
    name: parameter("name"),
    abilities: parameter("abilities"),
    family: parameter("family"),
    token_hash: parameter("tokenHash"),
    access_epoch: parameter("accessEpoch"),
    device: parameter("device"),
    last_used_at: parameter("createdAt"),
    expires_at: parameter("expiresAt"),
    created_at: parameter("createdAt"),
  },
} as const;

/** The tokens of one driver in the table `api_tokens`. Each decision between concurrent requests is one statement. */
export class TokenRows {
  readonly #database: Database;
  readonly #guard: string;
  readonly #model: AuthenticatableClass;
  readonly #insert: ProvenInsert;
  readonly #find: (family: string) => MaybePromise<FoundWithUser | null>;

  constructor(database: Database, guard: string, model: AuthenticatableClass) {
    database.keepOnPrimary([TOKEN_TABLE]);
    this.#database = database;
    this.#guard = guard;
    this.#model = model;
    this.#insert = new ProvenInsert(database, model, INSERT);
    this.#find = finderWithUser(database, guard, model, { table: TOKEN_TABLE, columns: TOKEN_COLUMNS, key: "family" });
  }

  /** Stores a token, and reports whether access to the account was still as it was when the user was read. */
  async insert(user: Authenticatable, token: NewToken): Promise<boolean> {
    const owner = { userId: user.authId(), guard: this.#guard, accessEpoch: accessEpochOf(user) };
    return (await this.#insert.run({ ...token, ...owner }, proofOf(this.#model, user))) !== null;
  }

  /** The token of a family and its user, by one statement if the users are rows next to it. */
  find(family: string): MaybePromise<FoundToken | null> {
    const found = this.#find(family);
    return isThenable(found) ? found.then(tokenOf) : tokenOf(found);
  }

  /** Replaces the refresh token, provided that the row is as it was read. */
  async rotate(row: TokenRow, { tokenHash, replaced, device, expiresAt, at }: Rotation): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.kysely
      .updateTable(TOKEN_TABLE)
      .set({
        token_hash: tokenHash,
        replaced: replacedColumn(replaced),
        device,
        last_used_at: at,
        expires_at: expiresAt,
      })
      .where("id", "=", row.id)
      .where("token_hash", "=", row.tokenHash)
      .where("access_epoch", "=", row.accessEpoch)
      .where("revoked_at", "is", null)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /** Revokes the tokens of a family, and reports whether they were active. */
  async revoke(family: string, userId: UserId, at: Date): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.kysely
      .updateTable(TOKEN_TABLE)
      // It has ended: pruning looks for that.
      .set({ revoked_at: at, expires_at: at })
      .where("family", "=", family)
      .where("guard", "=", this.#guard)
      .where("user_id", "=", userId)
      .where("revoked_at", "is", null)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /**
   * Deletes the oldest of a user's tokens, and those that have ended: a client that logs in again and again fills no table.
   *
   * @param keep how many of the newest active ones stay, and at most as many of those that have ended
   * @returns how many active ones were deleted
   */
  async deleteOldest(userId: UserId, keep: number): Promise<number> {
    const { kysely } = this.#database;
    const at = currentDate();
    const own = kysely.selectFrom(TOKEN_TABLE).where("user_id", "=", userId).where("guard", "=", this.#guard);
    const oldest = (rows: typeof own) => {
      // A derived table: some databases don't delete from a table that a subquery of the condition reads.
      const surplus = rows.select("id").orderBy("id", "desc").limit(1).offset(keep).as("surplus");
      return kysely
        .deleteFrom(TOKEN_TABLE)
        .where("user_id", "=", userId)
        .where("guard", "=", this.#guard)
        .where("id", "<=", kysely.selectFrom(surplus).select("surplus.id"));
    };
    await oldest(own).where("expires_at", "<=", at).execute();
    const active = oldest(own.where("expires_at", ">", at)).where("expires_at", ">", at);
    return Number((await active.executeTakeFirst()).numDeletedRows);
  }

  /** Runs work in a transaction. */
  transaction<T>(work: () => Promise<T>): Promise<T> {
    return this.#database.transaction(work, { retries: CONFLICT_RETRIES });
  }

  /** Deletes all tokens of a user, whose access has ended. */
  async deleteAll(userId: UserId): Promise<void> {
    await this.#database.kysely
      .deleteFrom(TOKEN_TABLE)
      .where("user_id", "=", userId)
      .where("guard", "=", this.#guard)
      .execute();
  }

  /** Records a use. */
  async touch({ id, at }: TokenUse): Promise<void> {
    await this.#database.kysely.updateTable(TOKEN_TABLE).set({ last_used_at: at }).where("id", "=", id).execute();
  }
}

function tokenOf(found: FoundWithUser | null): FoundToken | null {
  return found === null ? null : { row: new TokenRow(found.values), user: found.user };
}
