import {
  type Authenticatable,
  type AuthenticatableClass,
  accessEpochOf,
  ProvenInsert,
  proofOf,
  type UserId,
} from "../../auth/index.ts";
import { type Database, dateOf, parameter } from "../../database/index.ts";
import { digest } from "../../security/index.ts";
import { currentDate, now } from "../../support/index.ts";
import { type FoundWithUser, finderWithUser } from "../found-with-user.ts";
import type { TokenVersion } from "../settings.ts";

/** The table of personal tokens. */
export const PERSONAL_TOKEN_TABLE = "personal_tokens";

/** The columns that a token is judged by, in the order of {@link PersonalTokenRow}'s properties. */
const COLUMNS = [
  "id",
  "user_id",
  "name",
  "abilities",
  "access_epoch",
  "last_used_at",
  "expires_at",
  "revoked_at",
  "created_at",
] as const;

/** A token as it is stored. */
export interface PersonalTokenRow {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  /** `null`: everything that its user may let a token do. */
  readonly abilities: readonly string[] | null;
  readonly accessEpoch: string;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly isRevoked: boolean;
  readonly createdAt: Date;
}

/** A token that was found together with its user. */
export interface FoundPersonalToken {
  readonly row: PersonalTokenRow;
  /** `null` if the user no longer exists. */
  readonly user: Authenticatable | null;
}

/** A token to be stored. */
export interface NewPersonalToken {
  readonly name: string;
  readonly abilities: string | null;
  readonly tokenHash: string;
  /** The digest of what tells one sending of a form from another; `null` without a form. */
  readonly formHash: string | null;
  readonly expiresAt: Date | null;
  readonly createdAt: Date;
}

/** A use of a token, to be recorded. */
export interface PersonalTokenUse {
  readonly guard: string;
  readonly id: string;
  readonly at: Date;
}

const INSERT = {
  table: PERSONAL_TOKEN_TABLE,
  values: {
    user_id: parameter("userId"),
    guard: parameter("guard"),
    name: parameter("name"),
    abilities: parameter("abilities"),
    token_hash: parameter("tokenHash"),
    form_hash: parameter("formHash"),
    access_epoch: parameter("accessEpoch"),
    expires_at: parameter("expiresAt"),
    created_at: parameter("createdAt"),
  },
} as const;

/** Listed at most, newest first: all active ones, and some of those that have expired. */
const MAX_LISTED = 500;

/** The tokens of one driver in the table `personal_tokens`. */
export class PersonalTokenRows {
  readonly #database: Database;
  readonly #guard: string;
  readonly #model: AuthenticatableClass;
  readonly #version: TokenVersion | null;
  readonly #insert: ProvenInsert;
  readonly #find: ReturnType<typeof finderWithUser>;

  constructor(database: Database, guard: string, model: AuthenticatableClass, version: TokenVersion | null) {
    database.keepOnPrimary([PERSONAL_TOKEN_TABLE]);
    this.#database = database;
    this.#guard = guard;
    this.#model = model;
    this.#version = version;
    this.#insert = new ProvenInsert(database, model, INSERT);
    this.#find = finderWithUser(database, guard, model, {
      table: PERSONAL_TOKEN_TABLE,
      columns: COLUMNS,
      key: "token_hash",
    });
  }

  /** What a row must have to belong to the user's access of now: it changes with the driver's version, too. */
  epochOf(user: Authenticatable): string {
    const epoch = accessEpochOf(user);
    return this.#version === null ? epoch : digest(JSON.stringify([this.#version, epoch]));
  }

  /**
   * Stores a token, and returns its key; `null` if access to the account is no longer as it was when the user was read.
   *
   * @throws `E_UNIQUE_VIOLATION` if the form has already made a token
   */
  insert(user: Authenticatable, token: NewPersonalToken): Promise<string | null> {
    const owner = { userId: user.authId(), guard: this.#guard, accessEpoch: this.epochOf(user) };
    return this.#insert.run({ ...token, ...owner }, proofOf(this.#model, user));
  }

  /** The token with a digest and its user, by one statement if the users are rows next to it. */
  async find(tokenHash: string): Promise<FoundPersonalToken | null> {
    const found: FoundWithUser | null = await this.#find(tokenHash);
    return found === null ? null : { row: rowOf(found.values), user: found.user };
  }

  /** A user's tokens that have not been revoked, newest first; those that have expired are among them for a while. */
  async list(user: Authenticatable): Promise<readonly PersonalTokenRow[]> {
    const rows = await this.#of(user)
      .select([...COLUMNS])
      .orderBy("id", "desc")
      .limit(MAX_LISTED)
      .execute();
    return rows.map((row) => rowOf(COLUMNS.map((name) => row[name])));
  }

  /** How many of a user's tokens can be used. */
  async count(user: Authenticatable): Promise<number> {
    const { fn } = this.#database.kysely;
    const active = this.#of(user).where((is) =>
      is.or([is("expires_at", "is", null), is("expires_at", ">", currentDate())]),
    );
    const { total } = await active.select(fn.countAll().as("total")).executeTakeFirstOrThrow();
    return Number(total);
  }

  /** A token by its key, whoever it belongs to; `null` if it has ended, or is not one of this driver. */
  async get(id: string): Promise<PersonalTokenRow | null> {
    if (!isKey(id)) return null;
    const row = await this.#database.kysely
      .selectFrom(PERSONAL_TOKEN_TABLE)
      .select([...COLUMNS])
      .where("id", "=", id)
      .where("guard", "=", this.#guard)
      .where("revoked_at", "is", null)
      .executeTakeFirst();
    return row === undefined ? null : rowOf(COLUMNS.map((name) => row[name]));
  }

  /** Revokes a token of a user, and reports whether it was not revoked yet. */
  async revoke(id: string, userId: UserId): Promise<boolean> {
    const at = currentDate();
    const { numUpdatedRows } = await this.#database.kysely
      .updateTable(PERSONAL_TOKEN_TABLE)
      // It has ended: pruning looks for that.
      .set({ revoked_at: at, expires_at: at })
      .where("id", "=", id)
      .where("guard", "=", this.#guard)
      .where("user_id", "=", userId)
      .where("revoked_at", "is", null)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /** Deletes a token that no one has got to know. */
  async delete(id: string): Promise<void> {
    await this.#database.kysely.deleteFrom(PERSONAL_TOKEN_TABLE).where("id", "=", id).execute();
  }

  /** Deletes all tokens of a user, whose access has ended. */
  async deleteAll(userId: UserId): Promise<void> {
    await this.#database.kysely
      .deleteFrom(PERSONAL_TOKEN_TABLE)
      .where("user_id", "=", userId)
      .where("guard", "=", this.#guard)
      .execute();
  }

  /** Records a use. */
  async touch({ id, at }: PersonalTokenUse): Promise<void> {
    await this.#database.kysely
      .updateTable(PERSONAL_TOKEN_TABLE)
      .set({ last_used_at: at })
      .where("id", "=", id)
      .execute();
  }

  #of(user: Authenticatable) {
    return this.#database.kysely
      .selectFrom(PERSONAL_TOKEN_TABLE)
      .where("user_id", "=", user.authId())
      .where("guard", "=", this.#guard)
      .where("access_epoch", "=", this.epochOf(user))
      .where("revoked_at", "is", null);
  }
}

/** Reports whether a token can no longer be used because of its age. */
export function hasExpired({ expiresAt }: Pick<PersonalTokenRow, "expiresAt">): boolean {
  // Written so that NaN (an invalid date) counts as expired.
  return expiresAt !== null && !(now() < expiresAt.getTime());
}

/** Reports whether a text can be the key of a row: databases interpret any other in different ways. */
function isKey(id: string): boolean {
  return /^\d{1,18}$/.test(id);
}

function rowOf(values: readonly unknown[]): PersonalTokenRow {
  const [id, userId, name, abilities, accessEpoch, lastUsedAt, expiresAt, revokedAt, createdAt] = values;
  return {
    id: String(id),
    userId: String(userId),
    name: name as string,
    abilities: abilities === null ? null : (abilities as string).split(" ").filter((ability) => ability !== ""),
    accessEpoch: accessEpoch as string,
    lastUsedAt: lastUsedAt === null ? null : dateOf(lastUsedAt),
    expiresAt: expiresAt === null ? null : dateOf(expiresAt),
    isRevoked: revokedAt !== null,
    createdAt: dateOf(createdAt),
  };
}
