import { databaseOf, type Model, type ModelClass, metadataOf, tableHasColumn } from "../../database/index.ts";
import { normalizeKnownEmail } from "../../security/index.ts";
import { type AccessConditions, bothConditions } from "../access/access-epoch.ts";
import { rotateAccess } from "../access/rotate-access.ts";
import { findBySpelling } from "../passwords/verify-credentials.ts";
import {
  type AccountChanges,
  type AccountConditions,
  type AccountStore,
  type NewAccount,
  storeMethodsOf,
} from "../users/account-store.ts";
import { type AuthenticatableClass, closedColumnOf, isModel, type UserId } from "../users/authenticatable.ts";
import { type AuthenticatesInstance, type AuthenticatesStatics, requireEpoch } from "./user-model.ts";

/** A user of a model with the mixin `Authenticates` and a column `email`. */
export type ModelUser = Model & AuthenticatesInstance & { email: string | null };

/** The class of such users. */
export type UserModel = ModelClass<ModelUser> & AuthenticatesStatics;

const VERIFIED_AT = "verified_at";

/** The accounts of users who are rows of a model with the mixin `Authenticates`. */
export class ModelAccounts implements AccountStore<ModelUser> {
  readonly #model: UserModel;

  constructor(model: UserModel) {
    this.#model = model;
  }

  get name(): string {
    return this.#model.name;
  }

  get userClass(): UserModel {
    return this.#model;
  }

  get identifierColumn(): string {
    return this.#model.identifierColumn;
  }

  get identifiesByEmail(): boolean {
    return this.#model.identifiesByEmail;
  }

  normalizeIdentifier(identifier: string): string | null {
    return this.#model.normalizeIdentifier(identifier);
  }

  findByAuthId(id: UserId): Promise<ModelUser | null> {
    return this.#model.findByAuthId(id);
  }

  findByIdentifier(identifier: string, typed?: string): Promise<ModelUser | null> {
    return this.#model.findByIdentifier(identifier, typed);
  }

  findByEmail(email: string): Promise<ModelUser | null> {
    return findBySpelling(this.#model, "email", { normal: email, typed: email, normalize: normalizeKnownEmail });
  }

  attributeKind(name: string): "value" | "json" | null {
    // Even if `fillable` allows it, a caller must not choose a key: registration is a public form.
    if (name === this.#model.primaryKey || !this.#model.isFillable(name)) return null;
    return metadataOf(this.#model).casts.get(name) === "json" ? "json" : "value";
  }

  async create({ email, passwordHash, accessEpoch, attributes }: NewAccount): Promise<ModelUser> {
    const { passwordColumn, accessEpochColumn } = this.#model;
    const user = this.#draft(attributes, email);
    Object.assign(user, { [passwordColumn]: passwordHash });
    if (await tableHasColumn(this.#model, accessEpochColumn)) Object.assign(user, { [accessEpochColumn]: accessEpoch });
    return user.save();
  }

  async update(user: ModelUser, changes: AccountChanges, conditions: AccountConditions): Promise<ModelUser | null> {
    if (changes.accessEpoch !== undefined) await requireEpoch(user);
    const columns = this.#columnsOf(user, changes);
    // In a table without epochs, there is nothing to change.
    if (Object.keys(columns).length === 0) return user;
    const { accessEpoch, closesAt, email, passwordHash, verifiedAt } = conditions;
    const { closingColumn } = this.#model;
    // A model compares dates as it does text.
    const also = {
      ...(email === undefined ? {} : { email }),
      ...(passwordHash === undefined ? {} : { [this.#model.passwordColumn]: passwordHash }),
      ...(verifiedAt === undefined ? {} : { [VERIFIED_AT]: null }),
      ...(closesAt === undefined || closingColumn === null ? {} : { [closingColumn]: closesAt }),
    } as AccessConditions;
    const isProved = accessEpoch !== undefined;
    if (isProved && accessEpoch !== user.accessEpoch()) return null;
    if (isProved && changes.accessEpoch !== undefined)
      return (await rotateAccess(user, "user", columns, also)) ? user : null;
    const all = bothConditions(also, isProved ? user.accessConditions() : {});
    return all !== null && (await user.writeColumns(columns, all)) ? user : null;
  }

  delete(user: ModelUser): Promise<boolean> {
    return user.delete();
  }

  async existing(attribute: "id" | "email", values: readonly unknown[]): Promise<readonly string[]> {
    return existingRows(this.#model, attribute, values);
  }

  async closedAccounts(until: Date, id: UserId | null, limit: number): Promise<readonly ModelUser[]> {
    const { closingColumn, closedColumn, primaryKey } = this.#model;
    if (closingColumn === null) return [];
    const due = this.#model.where(closingColumn as never, "<=" as never, until as never);
    const open = closedColumn === null ? due : due.whereNull(closedColumn as never);
    const rest = id === null ? open : open.where(primaryKey as never, ">" as never, id as never);
    return rest
      .orderBy(primaryKey as never)
      .limit(limit)
      .get();
  }

  transaction<T>(work: () => Promise<T>): Promise<T> {
    const { connection } = this.#model;
    return databaseOf(this.#model)
      .connection(connection ?? undefined)
      .transaction(work);
  }

  /** The hash of a user's new password, by the rules of the model, which may have its own `setPassword`. */
  async hashPasswordOf(user: ModelUser, plain: unknown): Promise<string> {
    const column = this.#model.passwordColumn;
    const attributes = user as unknown as Record<string, unknown>;
    const before = attributes[column];
    try {
      await user.setPassword(plain);
      return user.passwordHash()!;
    } finally {
      // Saving the model later, for any reason, must not store a password that was refused, or for which no link was
      // used up.
      attributes[column] = before;
    }
  }

  /** The hash of the password of a user who does not exist yet, as {@link hashPasswordOf}. */
  async hashFirstPassword(attributes: NewAccount["attributes"], email: string | null, plain: unknown): Promise<string> {
    const user = this.#draft(attributes, email);
    await user.setPassword(plain);
    return user.passwordHash()!;
  }

  #draft(attributes: NewAccount["attributes"], email: string | null): ModelUser {
    const user = new this.#model().fill(attributes);
    if (email !== null) user.email = email;
    return user;
  }

  #columnsOf(
    user: ModelUser,
    { email, passwordHash, accessEpoch, verifiedAt, blockedAt, closesAt, attributes }: AccountChanges,
  ): Record<string, unknown> {
    const { passwordColumn, accessEpochColumn, blockedColumn, closingColumn } = this.#model;
    const ended = accessEpoch === undefined ? {} : user.accessChanges();
    return {
      ...attributes,
      ...ended,
      ...(accessEpochColumn in ended && { [accessEpochColumn]: accessEpoch }),
      ...(email !== undefined && { email }),
      ...(passwordHash !== undefined && { [passwordColumn]: passwordHash }),
      ...(verifiedAt !== undefined && { [VERIFIED_AT]: verifiedAt }),
      ...(blockedAt !== undefined && blockedColumn !== null && { [blockedColumn]: blockedAt }),
      ...(closesAt !== undefined && closingColumn !== null && { [closingColumn]: closesAt }),
    };
  }
}

/**
 * Of the given keys, or addresses, those that rows of a model have, as text. Closed accounts count as deleted.
 *
 * @param attribute `id` for the primary key, whatever its column is called
 */
export async function existingRows(
  model: ModelClass,
  attribute: "id" | "email",
  values: readonly unknown[],
): Promise<readonly string[]> {
  const { kysely } = databaseOf(model).connection(model.connection ?? undefined);
  const column = attribute === "id" ? model.primaryKey : attribute;
  const closed = closedColumnOf(model);
  const rows = kysely.selectFrom(model.table).select(column).where(column, "in", values);
  const found = await (closed === null ? rows : rows.where(closed, "is", null)).execute();
  return found.map((row) => String(row[column]));
}

/** The accounts of each class of users, or object that finds some. */
const known = new WeakMap<object, AccountStore | null>();

/** The accounts of the users that a class, or an object, finds; `null` if they can only log in. */
export function accountStoreOf(users: AuthenticatableClass): AccountStore | null {
  let store = known.get(users);
  if (store === undefined) {
    store = hasAccounts(users) ? (new ModelAccounts(users) as unknown as AccountStore) : ownStore(users);
    known.set(users, store);
  }
  return store;
}

/**
 * Of the given keys, or addresses, those that users of a class have, as text; `null` if that cannot be determined.
 *
 * @param attribute as for {@link existingRows}
 */
export async function existingUsers(
  users: AuthenticatableClass,
  attribute: "id" | "email",
  values: readonly unknown[],
): Promise<readonly string[] | null> {
  if (isModel(users)) return existingRows(users, attribute, values);
  return accountStoreOf(users)?.existing(attribute, values) ?? null;
}

/** Reports whether a class is a model with the mixin `Authenticates`. */
function hasAccounts(users: object): users is UserModel {
  return isModel(users) && "setPassword" in users.prototype;
}

function ownStore(users: AuthenticatableClass): AccountStore | null {
  return !isModel(users) && storeMethodsOf(users).missing.length === 0 ? (users as AccountStore) : null;
}
