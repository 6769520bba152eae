import { type Model, type ModelClass, tableHasColumn } from "../../database/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { AccessHolder } from "../access/access-epoch.ts";
import type { UserId } from "../users/authenticatable.ts";

/** The members that `Authenticates` adds to a model. */
export interface AuthenticatesInstance extends AccessHolder {
  /**
   * The user's access epoch as read with the row, or the fingerprint that replaces it if the table holds none. While the
   * account is blocked, it is another text each time.
   */
  accessEpoch(): string;
  /** Reports whether the account is blocked: the table has `blockedColumn`, and it isn't empty. */
  isBlocked(): boolean;
  /** When the account is deleted or anonymized, because it was closed; `null` if it wasn't: see `closingColumn`. */
  closesAt(): Date | null;
  /**
   * Ends all access to the account: every login on every device, every link in a mail, the API token if it is checked
   * in the database, and everything that the class's `endCredentials()` removes; see `CredentialHolder`.
   *
   * @returns whether the user's row existed
   * @throws `E_INVALID_MODEL` if the table has no column for the epoch, or the user was read without it
   */
  endAccess(): Promise<boolean>;
  /**
   * Sets a new password, to be saved with the model: 8 to 1024 bytes in NFC, not one of the most common ones, and not
   * the current one.
   *
   * @throws `E_INVALID_INPUT` with the reason, under `password`; `E_OVERLOADED`
   */
  setPassword(plain: unknown): Promise<void>;
  /**
   * Reports whether a password is the user's.
   *
   * @throws `E_OVERLOADED`
   */
  verifyPassword(plain: unknown): Promise<boolean>;
}

/** The members that `Authenticates` adds to a model's class. */
export interface AuthenticatesStatics {
  /** The column that users log in with; if its name is `email`, it is normalized as an address. */
  identifierColumn: string;
  /**
   * Whether users can log in with their address too, if `identifierColumn` is another column; default: `false`. See
   * `AuthenticatableClass`. Startup fails with `E_INVALID_MODEL` if the table has no column `email`.
   */
  identifiesByEmail: boolean;
  /** The column with the hash of the password. It is left out of JSON, hidden or not, and `fill` never sets it. */
  passwordColumn: string;
  /**
   * The column with the access epoch, a nullable text column: logins, links in mails and API tokens are valid only as
   * long as it doesn't change. It is left out of JSON, and never filled. A table without it works: a fingerprint of the
   * password hash and the address replaces it. But then nothing except a new password or address ends all access:
   * {@link AuthenticatesInstance.endAccess} fails, and `accounts.endAccess` ends logins, but not the links in mails.
   */
  accessEpochColumn: string;
  /**
   * The column that is not empty once an account is closed, such as `deleted_at`, if rows of users stay after that;
   * default: `null`. A closed account counts as one that doesn't exist: it can't log in, its logins, tokens and links are
   * invalid, and no mail about it is sent. To close one, set the column and save the user. `fill` never sets it.
   *
   * ```ts
   * class Member extends compose(Model, Authenticates) {
   *   static override closedColumn = "deleted_at";
   *   static override casts = { deleted_at: "datetime" } as const;
   *   declare deleted_at: Date | null;
   * }
   * ```
   *
   * An address can be registered again if the unique index leaves closed accounts out. Security: queries of your own,
   * such as `Member.find(id)`, find closed accounts too.
   */
  closedColumn: string | null;
  /**
   * The column that is not empty while an account is blocked, a nullable time; default: `blocked_at`. A table without it
   * works, but its accounts can't be blocked; `null` if a column of this name means something else. A blocked account is
   * found, but has no access: the right password is refused with a sentence, and logins, tokens and links are invalid. Block
   * one with `accounts.block`, or `ashlar users:block`. `fill` never sets the column, and JSON leaves it out.
   */
  blockedColumn: string | null;
  /**
   * The column with the time at which an account that its owner has closed is deleted or anonymized, a nullable time;
   * default: `closes_at`. Until then, a login empties it. A table without it works, but its accounts can't be closed; `null` if
   * a column of this name means something else. `fill` never sets it, and JSON leaves it out.
   */
  closingColumn: string | null;
  /** The user with this primary key whose account is not closed, or `null`. */
  findByAuthId<M extends Model & AuthenticatesInstance>(this: ModelClass<M>, id: UserId): Promise<M | null>;
  /**
   * The form in which identifiers that aren't addresses are stored and looked up; `null` if no account can have it. By
   * default, it is exactly what was typed.
   *
   * ```ts
   * class Member extends compose(Model, Authenticates) {
   *   static override identifierColumn = "username";
   *   static override normalizeIdentifier(typed: string): string | null {
   *     return typed.trim().toLowerCase();
   *   }
   * }
   * ```
   */
  normalizeIdentifier(identifier: string): string | null;
  /**
   * The user with this identifier, in its normal form, or `null`. An older row with another spelling of it is found if
   * it is an address with its domain in Unicode, or the typed text.
   */
  findByIdentifier<M extends Model & AuthenticatesInstance>(
    this: ModelClass<M> & AuthenticatesStatics,
    identifier: string,
    typed?: string,
  ): Promise<M | null>;
}

/**
 * Makes sure that a user was read with the epoch, if the table has one: without it, access to the account could not be
 * ended.
 *
 * @throws `E_INVALID_MODEL`
 */
export async function requireEpoch(user: Model): Promise<void> {
  const userClass = user.constructor as unknown as AuthenticatesStatics & ModelClass;
  const column = userClass.accessEpochColumn;
  if (user.getOriginal(column as never) !== undefined || !(await tableHasColumn(userClass, column))) return;
  const problem = `A user of the class ${userClass.name} was read without ${column}, so access to the account cannot end.`;
  throw new AshlarError("E_INVALID_MODEL", `${problem} Read the whole row.`);
}
