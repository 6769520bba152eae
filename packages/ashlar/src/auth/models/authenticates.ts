import {
  type Casts,
  CONFLICT_RETRIES,
  type Model,
  type ModelClass,
  metadataOf,
  type Normalizers,
  tableHasColumn,
} from "../../database/index.ts";
import { matchPassword, normalizeEmail } from "../../security/index.ts";
import { AshlarError, type Constructor } from "../../support/index.ts";
import {
  type AccessConditions,
  type AccessHolder,
  accessFingerprint,
  makeAccessEpoch,
} from "../access/access-epoch.ts";
import { audienceOf, endAccess, mayHoldCredentials } from "../access/end-access.ts";
import { hasherOf } from "../passwords/model-hasher.ts";
import { hashNewPassword } from "../passwords/new-password.ts";
import { findBySpelling, isAddress, normalizeIdentifier, storedHash } from "../passwords/verify-credentials.ts";
import { type AuthenticatableClass, blockedColumnOf, isClosed, keyOf, type UserId } from "../users/authenticatable.ts";
import { deletionOf } from "../users/user-data.ts";
import { type AuthenticatesInstance, type AuthenticatesStatics, requireEpoch } from "./user-model.ts";

/** The lookups that the mixin itself adds, as opposed to those of a class that has its own. */
const plainLookups = new WeakSet<object>();

/** Reports whether a class finds a user by primary key like the mixin does: the row with the key, and nothing else. */
export function findsByPrimaryKey(model: AuthenticatableClass): boolean {
  return plainLookups.has(model.findByAuthId);
}

/**
 * Makes a model a user, who can log in with an identifier and a password.
 *
 * ```ts
 * class User extends compose(Model, Authenticates) {}
 * const user = new User().fill({ name: "Grace", email: "grace@example.com" });
 * await user.setPassword(password);
 * await user.save();
 * ```
 *
 * Addresses and other identifiers are stored in their normal forms, however they are set. Text that can't be an address
 * is stored unchanged, and can't be used to log in.
 *
 * Saving a new password or a new address ends all access to the account, including the current login;
 * `accounts.changePassword` keeps that one.
 *
 * `delete()` also deletes what the framework stores about the user, in one transaction with the row: logins with their
 * IP addresses, links that set a password, and the user's previous addresses. API tokens that are checked in the
 * database end with the row. You have to delete the rows of your own tables, with foreign keys or beforehand. A query
 * such as `User.where(…).delete()` deletes only the rows of the users; the rest stays until `ashlar prune`, or the
 * server's daily pruning, finds it.
 *
 * Security: a query of your own, such as `User.where(…).update({ password })`, only sets the column. Call `endAccess()`
 * of the user after it.
 */
export function Authenticates<B extends ModelClass>(
  base: B,
): B & Constructor<AuthenticatesInstance> & AuthenticatesStatics {
  class Authenticating extends base {
    static identifierColumn = "email";
    static identifiesByEmail = false;
    static passwordColumn = "password";
    static accessEpochColumn = "access_epoch";
    static closedColumn: string | null = null;
    static blockedColumn: string | null = "blocked_at";
    static closingColumn: string | null = "closes_at";
    static override get casts(): Casts {
      const times = [this.blockedColumn, this.closingColumn].filter((column) => column !== null);
      return Object.fromEntries(times.map((column) => [column, "datetime"]));
    }
    static override get guarded(): readonly string[] {
      const { passwordColumn, accessEpochColumn, closedColumn, blockedColumn, closingColumn } = this;
      const columns = [passwordColumn, accessEpochColumn, closedColumn, blockedColumn, closingColumn];
      return columns.filter((column) => column !== null);
    }
    static override get normalizes(): Normalizers {
      const model = this as unknown as AuthenticatableClass;
      const email = (text: string) => normalizeEmail(text) ?? text;
      if (this.identifierColumn === "email") return { email };
      const name = (text: string) => (isAddress(model, text) ? text : (normalizeIdentifier(model, text) ?? text));
      return { email, [this.identifierColumn]: name };
    }

    static async findByAuthId<M extends Model & AuthenticatesInstance>(
      this: ModelClass<M>,
      id: UserId,
    ): Promise<M | null> {
      const user = await this.find(id);
      // Some databases convert "1 or more" to 1 when they look for a number.
      return user !== null && String(keyOf(user)) === String(id) && !isClosed(user) ? user : null;
    }

    static async findByIdentifier<M extends Model & AuthenticatesInstance>(
      this: ModelClass<M> & AuthenticatesStatics,
      identifier: string,
      typed: string = identifier,
    ): Promise<M | null> {
      const column = isAddress(this, identifier) ? "email" : this.identifierColumn;
      const normalize = (own: string) => normalizeIdentifier(this as unknown as AuthenticatableClass, own);
      return findBySpelling<M>(this, column, { normal: identifier, typed: typed.trim(), normalize });
    }

    static normalizeIdentifier(identifier: string): string | null {
      return identifier;
    }

    get #class(): AuthenticatesStatics & ModelClass {
      return this.constructor as unknown as AuthenticatesStatics & ModelClass;
    }

    get #column(): string {
      return this.#class.passwordColumn;
    }

    authId(): UserId {
      return keyOf(this);
    }

    passwordHash(): string | null {
      const hash = (this as unknown as Record<string, unknown>)[this.#column];
      return typeof hash === "string" ? hash : null;
    }

    async storePasswordHash(hash: string, replaced: string): Promise<void> {
      const { accessEpochColumn } = this.#class;
      const changes: Record<string, string> = { [this.#column]: hash };
      // The password stays the same, so everything bound to it must stay valid: its previous fingerprint becomes the
      // epoch.
      if (this.#stored(accessEpochColumn) === null) changes[accessEpochColumn] = this.accessEpoch();
      await this.writeColumns(changes, { ...this.accessConditions(), [this.#column]: replaced });
    }

    isBlocked(): boolean {
      const column = blockedColumnOf(this.#class);
      return column !== null && ((this as unknown as Record<string, unknown>)[column] ?? null) !== null;
    }

    closesAt(): Date | null {
      const closesAt = (this as unknown as Record<string, unknown>)[this.#class.closingColumn ?? ""];
      return closesAt instanceof Date ? closesAt : null;
    }

    accessEpoch(): string {
      if (this.isBlocked()) return makeAccessEpoch();
      const epoch = this.#stored(this.#class.accessEpochColumn);
      if (typeof epoch === "string") return epoch;
      const columns = this.#fingerprinted();
      const identifiers = Object.keys(columns).filter((name) => name !== this.#column);
      return accessFingerprint(
        columns[this.#column] ?? null,
        identifiers.map((name) => columns[name]!),
      );
    }

    accessConditions(): AccessConditions {
      const { accessEpochColumn, blockedColumn, closedColumn } = this.#class;
      const open = {
        ...(closedColumn === null ? {} : { [closedColumn]: null }),
        // The table may lack the column.
        ...(blockedColumn === null || this.#stored(blockedColumn) === undefined ? {} : { [blockedColumn]: null }),
      };
      const epoch = this.#stored(accessEpochColumn);
      if (typeof epoch === "string") return { ...open, [accessEpochColumn]: epoch };
      return { ...open, ...(epoch === undefined ? {} : { [accessEpochColumn]: null }), ...this.#fingerprinted() };
    }

    accessChanges(): AccessConditions {
      const { accessEpochColumn } = this.#class;
      const inherited = (base.prototype as Partial<AccessHolder>).accessChanges?.call(this) ?? {};
      if (this.#stored(accessEpochColumn) === undefined) return inherited;
      return { ...inherited, [accessEpochColumn]: makeAccessEpoch() };
    }

    async endAccess(): Promise<boolean> {
      await requireEpoch(this);
      if (this.#stored(this.#class.accessEpochColumn) === undefined) {
        const problem = `The table of the class ${this.#class.name} lacks ${this.#class.accessEpochColumn}, so endAccess() of a user ends nothing.`;
        throw new AshlarError("E_INVALID_MODEL", `${problem} Add the column, or call accounts.endAccess(user).`);
      }
      return this.#endWith(() => this.writeColumns(this.accessChanges()));
    }

    override async save(): Promise<this> {
      const { accessEpochColumn, blockedColumn, closedColumn, closingColumn, identifierColumn } = this.#class;
      if (this.isStored()) {
        const columns = [this.#column, identifierColumn, "email", closedColumn, blockedColumn, closingColumn];
        const decisive = columns.filter((column) => column !== null);
        if (this.isDirty(...(decisive as never[]))) {
          await requireEpoch(this);
          Object.assign(this, this.accessChanges());
          await this.#endWith(async () => {
            await super.save();
            return true;
          });
          return this;
        }
      } else if (await tableHasColumn(this.#class, accessEpochColumn)) {
        const { [accessEpochColumn]: own } = this as unknown as Record<string, unknown>;
        Object.assign(this, { [accessEpochColumn]: own ?? makeAccessEpoch() });
      }
      return super.save();
    }

    override async delete(): Promise<boolean> {
      const deleteUser = this.isStored() ? deletionOf(this.#class) : null;
      const deleteRow = () => super.delete();
      return deleteUser === null ? deleteRow() : deleteUser(this, deleteRow);
    }

    /**
     * Ends access with a statement that writes the row. The logins, which are invalid with the new epoch, are left: a user's
     * method doesn't know which of them the request comes from, and `logins().keepCurrent()` may be called next.
     */
    async #endWith(write: () => Promise<boolean>): Promise<boolean> {
      const { connection } = metadataOf(this.#class);
      const isAlone = !mayHoldCredentials(this);
      const account = {
        update: async () => ((await write()) ? this : null),
        transaction: <T>(work: () => Promise<T>) =>
          isAlone ? work() : connection.transaction(work, { retries: CONFLICT_RETRIES }),
        endLogins: async () => {},
        audience: audienceOf(this),
      };
      return (await endAccess(account, { what: "everything", reason: "application", proof: "none" })) !== null;
    }

    /** The value of a column as it was read; `undefined` if it wasn't. */
    #stored(column: string): unknown {
      return this.getOriginal(column as never);
    }

    /** The columns that the fingerprint is computed from. */
    #fingerprinted(): Record<string, string | null> {
      const columns: Record<string, string | null> = {};
      // Each page of a user without an epoch needs them: a list of pairs that becomes an object would cost several times as much.
      for (const name of [this.#column, this.#class.identifierColumn, "email"]) {
        const value = this.#stored(name);
        if (value !== undefined) columns[name] = value === null ? null : String(value);
      }
      if (this.#column in columns) return columns;
      // Without these columns, all such users would have the same fingerprint.
      const problem = `A user of the class ${this.constructor.name} was read without`;
      const remedy = "Read the row with one of the two.";
      throw new AshlarError(
        "E_INVALID_MODEL",
        `${problem} ${this.#class.accessEpochColumn} and ${this.#column}. ${remedy}`,
      );
    }

    async setPassword(plain: unknown): Promise<void> {
      const isCurrent = (password: string) => this.verifyPassword(password);
      const hash = (password: string) => hasherOf(this.#class).hash(password);
      Object.assign(this, { [this.#column]: await hashNewPassword(plain, isCurrent, hash) });
    }

    async verifyPassword(plain: unknown): Promise<boolean> {
      const hash = storedHash(this.passwordHash());
      if (typeof plain !== "string" || hash === null) return false;
      return (await matchPassword(hasherOf(this.#class), hash, plain)).fits;
    }

    override toJSON(): ReturnType<Model["toJSON"]> {
      const json = super.toJSON();
      const { accessEpochColumn, blockedColumn, closingColumn } = this.#class;
      const hidden = [this.#column, accessEpochColumn, blockedColumn, closingColumn];
      for (const column of hidden) if (column !== null) delete json[column];
      return json;
    }
  }
  plainLookups.add(Authenticating.findByAuthId);
  return Authenticating as unknown as B & Constructor<AuthenticatesInstance> & AuthenticatesStatics;
}
