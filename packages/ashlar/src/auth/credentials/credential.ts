import type { Cast, Database } from "../../database/index.ts";
import type { Authenticatable, AuthenticatableClass, UserId } from "../users/authenticatable.ts";

/**
 * A credential as it is stored: the columns that every credential has, and those of its feature.
 *
 * Its properties are read when they are used, so neither `{ ...credential }` nor JSON contains them. Name the
 * properties that you pass on.
 */
export type Credential<Columns extends object = object> = {
  /** The key of the row: a number, as text. */
  readonly id: string;
  /** The user's primary key, as it is stored. */
  readonly user_id: UserId;
  /** The user's access epoch when the credential was stored. It is invalid once the user's epoch differs. */
  readonly access_epoch: string;
  readonly created_at: Date;
  /** When it was last used, as `touch` has recorded; `null` if never. */
  readonly last_used_at: Date | null;
  /** When it expires; `null` if it doesn't. */
  readonly expires_at: Date | null;
  /** When it was revoked; `null` if it was not, and in a table without `keepsRevoked`. */
  readonly revoked_at: Date | null;
} & Readonly<Columns>;

/**
 * A credential together with its user, which is `null` if the user no longer exists.
 *
 * An active credential always has a user: `FoundCredential<Columns, Authenticatable>`.
 */
export interface FoundCredential<
  Columns extends object = object,
  User extends Authenticatable | null = Authenticatable | null,
> {
  readonly credential: Credential<Columns>;
  readonly user: User;
}

/**
 * The types of a feature's columns, by name: `text`, a whole number, or one of the models' casts: `datetime`,
 * `boolean`, `json`.
 */
export type CredentialKinds<Columns extends object> = {
  readonly [Name in keyof Columns]: "text" | Cast;
};

/** The subject of a `CredentialTable`. */
export interface CredentialTableOptions<Columns extends object, Hidden extends object = object> {
  readonly database: Database;
  /** The name of the guard, or of the token driver, whose users the credentials belong to. */
  readonly guard: string;
  /** The class of these users, or what finds them: the guard's `model`. */
  readonly users: AuthenticatableClass;
  /** The name of the table, as created by `createCredentialTable`. */
  readonly table: string;
  /** The feature's own columns, each with its type. */
  readonly columns: CredentialKinds<Columns>;
  /**
   * Values that all of its credentials have in further text columns, if a table holds several kinds, each with its own
   * `CredentialTable`: `{ kind: "passkey" }`. Its methods, except `prune` and `forget`, reach only these credentials. Default: `{}`.
   */
  readonly only?: Readonly<Record<string, string>>;
  /** Columns that are written and searched, but never read, such as the digest of a token. */
  readonly hidden?: readonly (keyof Hidden & string)[];
  /**
   * Whether `revoke` keeps the row, until it is pruned, so that a revoked credential can be distinguished from an
   * unknown one. The table then has the column `revoked_at`. Default: `false`.
   */
  readonly keepsRevoked?: boolean;
  /**
   * Whether credentials are invalid once access to the account has ended since they were stored: after a new password, a new
   * address, or a logout everywhere. Set it to `false` for credentials that a user keeps, such as a passkey or an
   * identity at another provider. Those of a blocked account are invalid either way. Default: `true`.
   */
  readonly endsWithAccess?: boolean;
  /** Credentials stored with another version are invalid. Default: `null`. */
  readonly version?: string | number | null;
}

/** The values of a new credential. `created_at` is now if it is left out, and the other times are `null`. */
export type CredentialValues<Columns extends object, Hidden extends object = object> = Readonly<Columns & Hidden> &
  Partial<Pick<Credential, "created_at" | "last_used_at" | "expires_at">>;

/** The values that a credential must have: all of those that are named. */
export type CredentialConditions<Columns extends object, Hidden extends object = object> = Readonly<
  Partial<Columns & Hidden & Pick<Credential, "id" | "user_id" | "access_epoch">>
>;

/** The changes to a credential. */
export type CredentialChanges<Columns extends object, Hidden extends object = object> = Readonly<
  Partial<Columns & Hidden & Pick<Credential, "last_used_at" | "expires_at">>
>;

/** The name of a unique column. */
export type CredentialKey<Columns extends object, Hidden extends object = object> =
  | "id"
  | (keyof (Columns & Hidden) & string);

/** Which credentials `list` returns: the newest ones, or those next to the end of another page. */
export interface CredentialRange {
  /** How many at most; default: 100. */
  readonly limit?: number;
  /** Only credentials older than the one with this key. If there is no such key, all of them. */
  readonly olderThan?: string | null;
  /**
   * Only credentials newer than the one with this key. If there is no such key, none of them. At most one of the two is
   * set.
   */
  readonly newerThan?: string | null;
  /** Whether those that have expired are included; default: `false`. */
  readonly withExpired?: boolean;
}

/** A use of a credential, to be recorded. */
export interface CredentialUse {
  /** The name of the guard, or of the token driver. */
  readonly guard: string;
  /** The key of its row. */
  readonly id: string;
  readonly at: Date;
}
