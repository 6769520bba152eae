import type { Authenticatable, AuthenticatableClass, UserClass, UserId } from "./authenticatable.ts";

/** A user of an {@link AccountStore}: an instance of its `userClass`. */
export interface AccountUser extends Authenticatable {
  /** The address, in the form that the store was given. */
  readonly email: string;
  /** The access epoch, as the user was read: the text that the store was given last. */
  accessEpoch(): string;
  /** Whether the address is verified: `verifiedAt` was stored. Left out by a class whose users never verify theirs. */
  hasVerifiedEmail?(): boolean;
  /**
   * When the account was made, if the store knows. A key can be given to another account after a deletion; links that were
   * mailed before that account was made are not about it then.
   */
  readonly created_at?: Date | null;
}

/** An account that is to be stored. Its address is not verified. */
export interface NewAccount {
  /** In its normal form, at most 254 characters. Unique. */
  readonly email: string;
  /** At most 255 characters. */
  readonly passwordHash: string;
  /** 128 random bits as text, at most 43 characters. */
  readonly accessEpoch: string;
  /** Values that {@link AccountStore.attributeKind} lets in, such as the name. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** What is to be written of an account. What is left out stays as it is. */
export interface AccountChanges extends Partial<NewAccount> {
  /** When the address was verified, to the millisecond. */
  readonly verifiedAt?: Date;
}

/** What must be stored of an account for a change to be made. */
export interface AccountConditions {
  readonly email?: string;
  readonly passwordHash?: string;
  /** That of the user whose account is changed, as it was read. */
  readonly accessEpoch?: string;
  /** The address is not verified. */
  readonly verifiedAt?: null;
}

/**
 * Where the accounts of a guard's users are kept: `model` of an entry of `GUARDS`. A model with the mixin `Authenticates` is
 * one by itself; this interface is for users that another ORM, or another service, keeps: `web: { model: new UserStore(db) }`.
 * Write it as a class; a plain object is copied with the configuration. `accountStoreSuite` of `ashlar/testing` tests what is
 * promised here.
 *
 * A store keeps what it is given, and gives it back as it was: texts to the character, times to the millisecond. It decides
 * nothing: what is a valid address or password, who may change what, which proof is needed. What it must promise is this:
 *
 * - **A change is one conditional statement.** `update` writes if the account still fulfills the conditions, and tells whether
 *   it did: `update … where id = ? and access_epoch = ?`. A read followed by a write would let two requests use one link, or a
 *   password that was just reset be replaced by a request from before. `create` relies on a unique index in the same way.
 * - **The access epoch ends access.** Logins, links in mails and pending steps hold only while it is the same. Change it
 *   exactly when told to. Credentials of your own that stand in the account, such as the digest of an API token, are emptied by
 *   the same statement; or give the user a method `endCredentials()`, see {@link CredentialHolder}.
 * - **What throws is rolled back.** Everything that the store does while `transaction` runs its work, in the work's own
 *   asynchronous context, is undone if the work throws.
 * - **What fails throws.** A store that cannot be reached must not answer as if there were no such account.
 *
 * The framework keeps logins, password resets and changes of address in its own database. If the store writes through the
 * framework's connection, `transaction` is `(work) => database.transaction(work)`, and there is one transaction. Otherwise there
 * are two: the store's commits first and the framework's right after. If the process dies in between, the account is changed
 * and has its new epoch, so that every login and link from before is void although its row is left; a change of address cannot
 * be undone then. On SQLite, such a store needs a file of its own: two transactions that write to one file wait for each other.
 *
 * Security: `JSON.stringify` of a user must not show the hash, the epoch or a token: give the class a `toJSON()`.
 */
export interface AccountStore<User extends AccountUser = AccountUser> extends AuthenticatableClass {
  /** The class of the users, of this store alone: a guard takes no others. */
  readonly userClass: UserClass;
  findByAuthId(id: UserId): Promise<User | null>;
  findByIdentifier(identifier: string): Promise<User | null>;
  /** The user with exactly this address, which comes in its normal form, or `null`. */
  findByEmail(email: string): Promise<User | null>;
  /**
   * Says what a registration may set besides the address and the password: `"value"` for text, numbers and so on, `"json"` for
   * what takes lists and objects too, `null` for all that is to be ignored.
   *
   * Security: name what may be set. A registration is a public form; it must not set a key, a role or a hash.
   *
   * @param name as the application passed it to `accounts.register`; it may come from an input
   */
  attributeKind(name: string): "value" | "json" | null;
  /**
   * Stores a new account.
   *
   * @returns the user, with the new key
   * @throws `UniqueViolationError` of `ashlar/database` if a unique value is taken, with `email` as its column or the name of the
   * attribute: of two accounts with one address, however close in time, one is made
   */
  create(account: NewAccount): Promise<User>;
  /**
   * Changes an account by one conditional statement.
   *
   * @param user whose account it is; found by the key alone
   * @returns the user as it was read, with the changes: a new object, made of what the statement itself returned or of the two.
   * It must not be read afterwards, when someone else may have changed the epoch. `null`, and nothing is written, if the account is
   * gone or does not fulfill the conditions
   * @throws `UniqueViolationError` as {@link create}; then nothing is written
   */
  update(user: User, changes: AccountChanges, conditions: AccountConditions): Promise<User | null>;
  /** Deletes an account, and tells whether it was there. */
  delete(user: User): Promise<boolean>;
  /** Of some keys, or addresses, those that accounts have, as text. Asked for a few hundred at once, for pruning. */
  existing(attribute: "id" | "email", values: readonly unknown[]): Promise<readonly string[]>;
  /**
   * Does some work in a transaction of the store: commits when it returns, rolls back when it throws.
   *
   * @returns what the work returns
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

/** Which of the methods that accounts need, beyond those for logging in, a store has and lacks. */
export function storeMethodsOf(store: object): {
  readonly present: readonly string[];
  readonly missing: readonly string[];
} {
  const { present = [], missing = [] } = Object.groupBy(METHODS, (name) => {
    return typeof (store as Record<string, unknown>)[name] === "function" ? "present" : "missing";
  });
  return { present, missing };
}
