import type { BatchCondition, BatchTable } from "../../database/index.ts";
import { digest } from "../../security/index.ts";
import { currentDate, type MaybePromise } from "../../support/index.ts";
import { accessEpochOf, type LoginProof, proofOf } from "../access/access-epoch.ts";
import { type Authenticatable, isBlocked, keepsSameRows, type UserId } from "../users/authenticatable.ts";
import type { DataSubject } from "../users/user-data.ts";
import type {
  Credential,
  CredentialChanges,
  CredentialConditions,
  CredentialKey,
  CredentialRange,
  CredentialTableOptions,
  CredentialValues,
  FoundCredential,
} from "./credential.ts";
import { CredentialFinder } from "./credential-finder.ts";
import { CredentialShape, canBe, hasExpired, unexpiredAt } from "./credential-shape.ts";
import { CredentialWriter } from "./credential-writer.ts";
import { ProvenInsert } from "./proven-insert.ts";
import { type CredentialPruning, forgetUnused, pruneCredentials, usersOf } from "./prune-credentials.ts";

/** The access epoch of credentials that outlive access. No user has it. */
const LASTING = "lasting";
/** The columns that an insert writes in every table. */
const WRITTEN = ["user_id", "guard", "access_epoch", "created_at", "last_used_at", "expires_at"];

/**
 * Rows that prove who a user is, in a feature's own table: logins, API tokens, passkeys, recovery codes.
 *
 * ```ts
 * interface PasskeyColumns {
 *   readonly credential_id: string;
 *   readonly public_key: string;
 *   readonly counter: number;
 * }
 *
 * class Passkeys extends CredentialTable<PasskeyColumns> {
 *   constructor(database: Database) {
 *     const columns = { credential_id: "text", public_key: "text", counter: "integer" } as const;
 *     super({ database, guard: "web", users: User, table: "passkeys", columns });
 *   }
 *
 *   // Of two requests with the same counter, one comes from a copy.
 *   async advance(id: string, before: number, counter: number): Promise<boolean> {
 *     return this.update({ id, counter: before }, { counter });
 *   }
 * }
 * ```
 *
 * Each decision between concurrent requests is one conditional statement:
 *
 * - **No credential outlives the access that it is based on.** {@link insert} stores nothing once access to the account has
 *   ended since the user was read, for example by a new password, or once the user was deleted. If users are not rows
 *   of the same database, it writes first, then reads the user again, and deletes its row again.
 * - **A credential is revoked once.** Of concurrent calls of {@link revoke} or {@link delete}, one returns `true`: a recovery
 *   code can't be used twice.
 * - **Revoked credentials don't come back.** {@link update} doesn't change them.
 *
 * A table can contain credentials of several guards, and of several kinds (`only`), each with its own
 * `CredentialTable`: all methods but {@link prune} and {@link forget} reach only the credentials of `guard`, even if
 * users of two guards have equal keys.
 *
 * Methods take part in the caller's transaction.
 *
 * Security: store digests of the texts that clients present, never the texts themselves. {@link findActive} decides
 * whether a credential is valid; {@link find} and {@link get} also return those that have ended.
 */
export class CredentialTable<Columns extends object = object, Hidden extends object = object> {
  readonly #options: CredentialTableOptions<Columns, Hidden>;
  readonly #shape: CredentialShape<Columns>;
  /** The columns of the feature that an insert writes. */
  readonly #written: readonly string[];
  readonly #writer: CredentialWriter;
  // Both are created when they are first used.
  #createdFinder: CredentialFinder<Columns> | null = null;
  #createdInsert: ProvenInsert | null = null;

  constructor(options: CredentialTableOptions<Columns, Hidden>) {
    const { database, table, columns, hidden = [], keepsRevoked = false, only = {} } = options;
    // A replica that lags would still have revoked credentials.
    database.keepOnPrimary([table]);
    this.#options = options;
    this.#shape = new CredentialShape(columns, keepsRevoked);
    this.#writer = new CredentialWriter(options, this.#shape);
    this.#written = [...Object.keys(columns), ...hidden, ...Object.keys(only)];
  }

  /**
   * What `access_epoch` has to be for a user's credential to be valid: the user's access epoch, or with `endsWithAccess: false`
   * the same for all users. It depends on the table's `version`.
   */
  epochOf(user: Authenticatable): string {
    const { endsWithAccess = true, version = null } = this.#options;
    const epoch = endsWithAccess || isBlocked(user) ? accessEpochOf(user) : LASTING;
    return version === null ? epoch : digest(JSON.stringify([version, epoch]));
  }

  /**
   * Stores a credential of a user.
   *
   * @param user the user as read when they gave the proof, not read again since
   * @returns its key; `null`, with nothing stored, if access to the account has ended since
   * @throws `E_UNIQUE_VIOLATION` if a unique column has the value already
   */
  insert(user: Authenticatable, values: CredentialValues<Columns, Hidden>): Promise<string | null> {
    const owner = { user_id: user.authId(), access_epoch: this.epochOf(user) };
    return this.insertProved({ ...values, ...owner }, proofOf(this.#options.users, user));
  }

  /**
   * Stores a credential in an access epoch that the caller chooses.
   *
   * @internal
   */
  insertProved(
    values: CredentialValues<Columns, Hidden> & Pick<Credential, "user_id" | "access_epoch">,
    proof: LoginProof,
  ): Promise<string | null> {
    const empty = Object.fromEntries(this.#written.map((name) => [name, null]));
    const times = { created_at: currentDate(), last_used_at: null, expires_at: null };
    const { guard, only } = this.#options;
    const stored = this.#shape.stored({ ...empty, ...times, ...values });
    return this.#insert.run({ ...stored, ...only, guard }, proof);
  }

  /**
   * Finds a credential and its user, with one statement if users are rows next to the table, whether it is active or not:
   * see {@link isActive}.
   *
   * @param column `id`, or another unique column
   * @param value may come from an input
   * @returns `null` if there isn't one
   */
  find(column: CredentialKey<Columns, Hidden>, value: string): MaybePromise<FoundCredential<Columns> | null> {
    return canBe(column, value) ? this.#finder.find(column, value) : null;
  }

  /**
   * Finds a credential that is active, and its user.
   *
   * @param column `id`, or another unique column
   * @param value may come from an input
   * @returns `null` if there isn't one, or it is not active
   */
  async findActive(
    column: CredentialKey<Columns, Hidden>,
    value: string,
  ): Promise<FoundCredential<Columns, Authenticatable> | null> {
    const found = await this.find(column, value);
    return found !== null && this.isActive(found) ? found : null;
  }

  /** Finds a credential, without its user, as {@link find} does. */
  get(column: CredentialKey<Columns, Hidden>, value: string): MaybePromise<Credential<Columns> | null> {
    return canBe(column, value) ? this.#finder.get(column, value) : null;
  }

  /**
   * Whether {@link find} reads credential and user with one statement.
   *
   * @internal
   */
  get joinsUsers(): boolean {
    return this.#finder.joinsUsers;
  }

  /**
   * Returns the state of a credential that was found: `active` if it proves who its user is; `expired` if only its time
   * is over; `ended` if it was revoked, its user no longer exists or is blocked, or access to the account has ended
   * since it was stored (see `endsWithAccess`).
   */
  stateOf({ credential, user }: FoundCredential<Columns>): "active" | "expired" | "ended" {
    if (credential.revoked_at !== null || user === null) return "ended";
    // A class may return a user other than the requested one.
    if (String(user.authId()) !== String(credential.user_id)) return "ended";
    if (this.epochOf(user) !== credential.access_epoch) return "ended";
    return hasExpired(credential) ? "expired" : "active";
  }

  /** Reports whether a credential proves who its user is, as {@link stateOf} tells. */
  isActive(found: FoundCredential<Columns>): found is FoundCredential<Columns, Authenticatable> {
    return this.stateOf(found) === "active";
  }

  /**
   * The credentials of a user that are valid in the current access epoch, newest first.
   *
   * @param range its keys may come from an input
   */
  list(user: Authenticatable, range: CredentialRange = {}): Promise<readonly Credential<Columns>[]> {
    return this.listOf(user.authId(), range, this.epochOf(user));
  }

  /**
   * Like {@link list}, by the user's key.
   *
   * @param epoch default: all of them
   * @internal
   */
  listOf(userId: UserId, range: CredentialRange, epoch?: string): Promise<readonly Credential<Columns>[]> {
    return this.#finder.list(userId, range, epoch);
  }

  /** How many credentials of a user are active. */
  count(user: Authenticatable): Promise<number> {
    return this.#finder.count(user.authId(), this.epochOf(user));
  }

  /**
   * Changes the credential that meets the conditions, with one statement.
   *
   * @param where name the key, which may come from an input, or another unique column
   * @returns whether there was one, and it was not revoked
   */
  update(where: CredentialConditions<Columns, Hidden>, changes: CredentialChanges<Columns, Hidden>): Promise<boolean> {
    return this.change(where, changes);
  }

  /**
   * Records a use. Each call writes, so call it only once in a while. A credential that has ended stays ended.
   *
   * @param at when it was used
   */
  touch(id: string, at: Date = currentDate()): Promise<void> {
    return this.#writer.touch(id, at);
  }

  /**
   * Ends the credential that meets the conditions. Its row is deleted, or with `keepsRevoked`, kept until it is pruned.
   *
   * @param where name the key, which may come from an input, or another unique column; with `user_id`, it has to be that
   *   user's
   * @returns whether there was one; of several concurrent calls, only one returns `true`
   */
  revoke(where: CredentialConditions<Columns, Hidden>): Promise<boolean> {
    if (this.#options.keepsRevoked !== true) return this.delete(where);
    const at = currentDate();
    // Marks the credential as ended, for pruning.
    return this.change(where, { revoked_at: at, expires_at: at });
  }

  /** Deletes the row that meets the conditions, as {@link revoke} does without `keepsRevoked`. */
  delete(where: CredentialConditions<Columns, Hidden>): Promise<boolean> {
    return this.#writer.delete(where);
  }

  /**
   * Deletes the oldest active credentials of a user. Call it after each {@link insert}: if several run at the same time, the
   * last of them finds what all have stored.
   *
   * @param keep how many of the newest credentials stay
   * @returns how many were deleted
   */
  deleteOldest(userId: UserId, keep: number): Promise<number> {
    return this.deleteOldestOf(userId, keep, unexpiredAt(currentDate()));
  }

  /**
   * Deletes the oldest of a user's credentials that meet a condition.
   *
   * @internal
   */
  deleteOldestOf(userId: UserId, keep: number, condition: BatchCondition): Promise<number> {
    return this.#writer.deleteOldest(userId, keep, condition);
  }

  /**
   * Deletes all credentials of a user. Call it when the user is deleted.
   *
   * @param except the key of a credential that stays
   * @returns how many were deleted
   */
  deleteAll(userId: UserId, except: string | null = null): Promise<number> {
    return this.#writer.deleteAll(userId, except);
  }

  /**
   * Deletes the credentials of a user whose data is erased, if the user is one of this guard: `erase` of a feature's
   * `userData`, or of a proof's `data`.
   */
  async erase({ user, id }: Pick<DataSubject, "user" | "id">): Promise<void> {
    if (keepsSameRows(user.constructor, this.#options.users)) await this.deleteAll(id);
  }

  /**
   * A user's credentials for an export, oldest first, with those that have ended: `export` of the same.
   *
   * @param columns the columns that the user may see; never a digest
   * @returns an empty list for users of other guards
   */
  async export(
    { user, id }: Pick<DataSubject, "user" | "id">,
    columns: readonly string[],
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return keepsSameRows(user.constructor, this.#options.users) ? this.#finder.export(id, columns) : [];
  }

  /**
   * Deletes credentials that ended a while ago, of all guards, and those of users that no longer exist, a few rows at a time.
   *
   * @returns how many were deleted
   */
  prune({ existingUsers, ...pruning }: CredentialPruning): Promise<number> {
    const { guard, users } = this.#options;
    // Rows of other guards stay, because their users aren't known here.
    return pruneCredentials(this.#rows, { existingUsers: existingUsers ?? usersOf(guard, users), ...pruning });
  }

  /**
   * Empties columns of credentials that were not used for a while, of all guards, a few rows at a time: addresses and names
   * of devices are personal data.
   *
   * @param unusedSince those that were last used at or before this time
   * @param signal stops it as soon as possible
   * @returns how many credentials had any of them
   */
  forget(
    columns: readonly (keyof (Columns & Hidden) & string)[],
    unusedSince: Date,
    signal?: AbortSignal,
  ): Promise<number> {
    return forgetUnused(this.#rows, columns, unusedSince, signal);
  }

  /**
   * Changes any columns.
   *
   * @internal
   */
  change(where: object, changes: object): Promise<boolean> {
    return this.#writer.change(where, changes);
  }

  get #finder(): CredentialFinder<Columns> {
    this.#createdFinder ??= new CredentialFinder(this.#options, this.#shape);
    return this.#createdFinder;
  }

  get #insert(): ProvenInsert {
    const { database, users, table } = this.#options;
    this.#createdInsert ??= new ProvenInsert(database, users, table, [...WRITTEN, ...this.#written]);
    return this.#createdInsert;
  }

  get #rows(): BatchTable {
    return { kysely: this.#options.database.kysely, table: this.#options.table, key: "id" };
  }
}
