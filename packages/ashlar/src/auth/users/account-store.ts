import type { Authenticatable, AuthenticatableClass, UserClass, UserId } from "./authenticatable.ts";

/** A user of an {@link AccountStore}: an instance of its `userClass`. */
export interface AccountUser extends Authenticatable {
  /** The email address, exactly as the store received it; `null` if the account has none. */
  readonly email: string | null;
  /** The access epoch when the user was read: the last one that the store received. */
  accessEpoch(): string;
  /**
   * Whether the address is verified, that is, `verifiedAt` is set. Leave it out if your users never verify addresses.
   */
  hasVerifiedEmail?(): boolean;
  /**
   * When the account was created, if the store knows. It protects against keys that are reassigned after a deletion: a
   * link that undoes a change of address doesn't work for an account that is newer than the change.
   */
  readonly created_at?: Date | null;
}

/** An account to be stored. Its address is not verified yet. */
export interface NewAccount {
  /** The normalized address, at most 254 characters. Unique. */
  readonly email: string;
  /** At most 255 characters; `null` for an account that is used without a password. */
  readonly passwordHash: string | null;
  /**
   * 128 bits that no one can guess, as text, at most 43 characters. That of a registration ends with its time, by which the
   * same registration is recognized if it arrives again within ten minutes.
   */
  readonly accessEpoch: string;
  /** The values that {@link AccountStore.attributeKind} accepts, such as the name. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** The values to write to an account. Missing values stay unchanged. */
export interface AccountChanges extends Partial<NewAccount> {
  /** When the address was verified, with milliseconds. */
  readonly verifiedAt?: Date;
  /** When the account was blocked, or `null` to unblock it. Only set if the users have `isBlocked()`. */
  readonly blockedAt?: Date | null;
  /**
   * When the account is deleted or anonymized, in whole seconds, or `null` to keep it. Only set if the users have
   * `closesAt()`.
   */
  readonly closesAt?: Date | null;
}

/** Values that an account must still have for a change to be made. */
export interface AccountConditions {
  readonly email?: string;
  readonly passwordHash?: string;
  /** The user's access epoch when the user was read. */
  readonly accessEpoch?: string;
  /** The address is not verified. */
  readonly verifiedAt?: null;
  /** What `closesAt()` of the user returned when the user was read. Only set if the users have that method. */
  readonly closesAt?: Date;
}

/**
 * Stores the accounts of a guard's users: `model` of an entry of `GUARDS`. A model with the mixin `Authenticates`
 * already is one; this interface is for users that another ORM or a service stores:
 * `web: { model: new UserStore(db) }`. Write it as a class, because plain objects are copied with the configuration.
 * `accountStoreSuite` of `ashlar/testing` tests a store's contract. `docs/account-stores.md` in this package
 * has a complete store, and lists what else changes in a generated application.
 *
 * A store returns values as it received them: texts unchanged, times with milliseconds. It makes no decisions. The
 * framework decides which addresses and passwords are valid, who may change them, and which proof a change needs. A
 * store promises:
 *
 * - **A change is one conditional statement.** `update` writes if the account still fulfills the conditions, and
 *   reports whether it did: `update … where id = ? and access_epoch = ?`. With a read followed by a write, two requests
 *   could use the same link, or an older request could overwrite a password that was just reset. In the same way,
 *   `create` relies on a unique index.
 * - **The access epoch ends access.** Logins, links in mails and pending steps are valid only while it stays the same.
 *   Change it only when asked to. If accounts have credentials of your own, such as the digest of an API token, clear
 *   them in the same statement, or give the user a method `endCredentials()`; see `CredentialHolder`.
 * - **What throws is rolled back.** If the work that is passed to `transaction` throws, everything that the store did
 *   in that work's asynchronous context is undone.
 * - **Failures throw.** If the store can't be reached, it must not respond as if there were no such account.
 *
 * The framework keeps logins, password resets and changes of address in its own database. If the store uses the
 * framework's connection, there is one transaction: `transaction` is `(work) => database.transaction(work)`. Otherwise
 * there are two. The store's commits first, the framework's right after. If the process is killed in between, the
 * account is changed and has its new epoch, so all earlier logins and links are invalid even though their rows still
 * exist. A change of address can't be undone then, because the link is mailed after both; but the old address is
 * reserved before both, so no other account can take it at any moment. On SQLite, such a store needs its own file: two
 * transactions that write to the same file would wait for each other.
 *
 * Security: a user's JSON must not contain the hash, the epoch or a token. Give the class a `toJSON()`.
 */
export interface AccountStore<User extends AccountUser = AccountUser> extends AuthenticatableClass {
  /** The class of the users, used by this store only: guards refuse users of any other class. */
  readonly userClass: UserClass;
  /**
   * The user with exactly this key, or `null`. A key can come from outside as text: `"7"` finds the account with the
   * key 7, but `" 7"`, `"7.0"` and `"7 or 1=1"` find none. Check the text before a database converts it.
   */
  findByAuthId(id: UserId): Promise<User | null>;
  /**
   * The user with exactly this value in the property that `identifierColumn` names, or, if it contains an `@` and
   * `identifiesByEmail` is set, with this address; otherwise `null`.
   */
  findByIdentifier(identifier: string): Promise<User | null>;
  /**
   * The user with exactly this address, given in its normal form, or `null`.
   *
   * Security: some databases treat texts as equal that differ in accents or case. Compare the address that you found in
   * code as well: another address is another mailbox. The same applies to `findByIdentifier`.
   */
  findByEmail(email: string): Promise<User | null>;
  /**
   * Returns what kind of value a registration may set for an attribute besides the address and the password: `"value"`
   * for text, numbers and so on, `"json"` if lists and objects are allowed too, `null` to ignore the attribute.
   *
   * Security: only accept attributes by name. A registration is a public form; it must not set a key, a role or a hash.
   *
   * @param name the name that was passed to `accounts.register`; it can come from an input
   */
  attributeKind(name: string): "value" | "json" | null;
  /**
   * Stores a new account.
   *
   * @returns the user, with the new key
   * @throws `UniqueViolationError` of `ashlar/database` if a unique value is taken, with `email` or the name of the
   *   attribute as its column: `new UniqueViolationError({ columns: ["email"], cause: error })`. If two accounts with
   *   the same address are created at the same moment, one is stored
   */
  create(account: NewAccount): Promise<User>;
  /**
   * Changes an account with one conditional statement.
   *
   * @param user the user whose account is changed; it is found by its key alone
   * @returns the user with the changes, as a new object: made from the statement's result, or from the given user and
   *   the changes. Don't read it again, since the epoch could have changed by then. `null`, with nothing written, if
   *   the account no longer exists or does not fulfill the conditions
   * @throws `UniqueViolationError` as {@link create}, with nothing written
   */
  update(user: User, changes: AccountChanges, conditions: AccountConditions): Promise<User | null>;
  /** Deletes an account, and returns whether it existed. */
  delete(user: User): Promise<boolean>;
  /** Returns which of these keys or addresses accounts have, as text. Pruning looks up a few hundred at a time. */
  existing(attribute: "id" | "email", values: readonly unknown[]): Promise<readonly string[]>;
  /**
   * Returns accounts in the order of their keys, for `ashlar users:normalize`: the first ones whose key is greater, or
   * simply the first. Leave it out if the store can't list them; the command then names the store.
   *
   * @param id the key of the last account of the call before; `null` for the first call
   * @param limit at most this many
   */
  accountsAfter?(id: UserId | null, limit: number): Promise<readonly User[]>;
  /**
   * Returns accounts whose `closesAt()` isn't after a time, in the order of their keys: those that are to be deleted or
   * anonymized. It is needed if users have `closesAt()`.
   *
   * @param id the key of the last account of the call before; `null` for the first call
   * @param limit at most this many
   */
  closedAccounts?(until: Date, id: UserId | null, limit: number): Promise<readonly User[]>;
  /**
   * Runs work in a transaction of the store: commits when it returns, rolls back when it throws.
   *
   * @returns the work's result
   */
  transaction<T>(work: () => Promise<T>): Promise<T>;
}

const METHODS = [
  "findByEmail",
  "attributeKind",
  "create",
  "update",
  "delete",
  "existing",
  "transaction",
] as const satisfies readonly (keyof AccountStore)[];

/** Lists which of the methods for accounts, beyond those for logging in, a store has and lacks. */
export function storeMethodsOf(store: object): {
  readonly present: readonly string[];
  readonly missing: readonly string[];
} {
  const { present = [], missing = [] } = Object.groupBy(METHODS, (name) => {
    return typeof (store as Record<string, unknown>)[name] === "function" ? "present" : "missing";
  });
  return { present, missing };
}
