import { haveSameTable, Model, type ModelClass } from "../../database/index.ts";
import { AshlarError } from "../../support/index.ts";

const METHODS = ["authId", "passwordHash", "storePasswordHash"] as const;

/** The value of a user's primary key. */
export type UserId = string | number | bigint;

/**
 * What auth requires of a user. The mixin `Authenticates` adds it to a model; a class of another ORM can be a
 * user if it has these three methods.
 */
export interface Authenticatable {
  /** The user's primary key. */
  authId(): UserId;
  /** The stored hash of the user's password, or `null` if the user has none and therefore cannot log in with one. */
  passwordHash(): string | null;
  /**
   * Stores a new hash of the same password, provided that `replaced` is still the stored one: a password that was
   * changed in the meantime must not be restored.
   */
  storePasswordHash(hash: string, replaced: string): Promise<void>;
  /**
   * The user's access epoch, as read with the user: a value that changes whenever access to the account ends, because
   * its password or address was changed, or because it was logged out everywhere. Logins and links in mails are bound
   * to it.
   *
   * If a class leaves it out, a fingerprint of the password hash and of `email` is used instead.
   *
   * Security: create it from random bits, never from a counter or a time. For a class that is not a model, a login in
   * progress while the epoch changes is stored, found to be invalid, and removed.
   */
  accessEpoch?(): string;
  /**
   * Whether the account is blocked, as read with the user: it can't be logged in to, and nothing that gave access to it is
   * valid. Leave it out if accounts of this class are never blocked.
   */
  isBlocked?(): boolean;
  /**
   * When the account is deleted or anonymized, as read with the user; `null` if its owner hasn't closed it. Leave it out
   * if accounts of this class can't be closed.
   */
  closesAt?(): Date | null;
}

/** A class whose instances are users. */
export type UserClass = NonNullable<AuthenticatableClass["userClass"]>;

/**
 * What auth requires to find users: of a user's class, or of an object that finds the users of `userClass`. Users who
 * are found this way can log in; for accounts that are registered and change, see `AccountStore`.
 */
export interface AuthenticatableClass {
  /** The name of the class of users, for messages. */
  readonly name: string;
  /** The class of the users; missing if it is this class itself. */
  readonly userClass?: abstract new (
    ...args: never[]
  ) => object;
  /**
   * The tables of the application's databases that users are read from, for anything but a model. It is needed if a database
   * has read replicas, which are never asked about these tables; `[]` if the users are elsewhere.
   */
  readonly tables?: readonly string[];
  /**
   * The name of the identifier that users log in with. If it is `email`, identifiers are normalized as addresses before
   * the lookup.
   */
  readonly identifierColumn: string;
  /**
   * Whether users can log in with their email address too, if `identifierColumn` is another column: an identifier with an
   * `@` is then an address, and normalized as one. Default: `false`.
   *
   * Security: no value of `identifierColumn` may contain an `@` then; `accounts.register` refuses it. Attempts are
   * counted separately for the two names, so an account gets twice as many. Counting them together would reveal which
   * address belongs to which name.
   */
  readonly identifiesByEmail?: boolean;
  /**
   * The form in which an identifier that isn't an address is stored and looked up, and its attempts are counted, such as
   * lower case; `null` if no account can have it. Applied to its own result, it must return the same. Default: exactly
   * what was typed.
   *
   * Security: an account's identifier must have one form, or each of its variants could be guessed at separately.
   */
  normalizeIdentifier?(identifier: string): string | null;
  /** The user with this primary key, or `null`. */
  findByAuthId(id: UserId): Promise<Authenticatable | null>;
  /**
   * The user with this identifier, given in its normal form, or `null`. With `identifiesByEmail`, it may be an address.
   *
   * @param typed the typed text: if older rows hold another form, a user can be looked up by both in one query,
   * provided that the identifier found has the normal form `identifier`
   */
  findByIdentifier(identifier: string, typed?: string): Promise<Authenticatable | null>;
}

/**
 * A user as required by auth, for features, which don't know the application's class of users.
 *
 * ```ts
 * const key = ({ request }: HttpContext) => asAuthenticatable(request.user()!).authId();
 * ```
 *
 * @throws `E_INVALID_MODEL` if it isn't a user
 */
export function asAuthenticatable(user: object): Authenticatable {
  if (isAuthenticatable(user)) return user;
  throw new AshlarError(
    "E_INVALID_MODEL",
    `${user.constructor.name} is not a class of users: it lacks ${METHODS.join(", ")}.`,
  );
}

function isAuthenticatable(user: object): user is Authenticatable {
  return METHODS.every((method) => typeof (user as Partial<Authenticatable>)[method] === "function");
}

/** The class of the users that a class, or an object, finds. */
export function userClassOf(users: object): object {
  return (users as Partial<AuthenticatableClass>).userClass ?? users;
}

/**
 * Reports whether a class, or an object, has what auth requires to find users, and these have what auth requires of a
 * user.
 */
export function isAuthenticatableClass(value: unknown): value is AuthenticatableClass {
  const users = Object(value) as object;
  const { name, identifierColumn, findByAuthId, findByIdentifier } = users as Readonly<Record<string, unknown>>;
  if (typeof name !== "string" || typeof identifierColumn !== "string") return false;
  if (typeof findByAuthId !== "function" || typeof findByIdentifier !== "function") return false;
  const userClass = userClassOf(users);
  if (typeof userClass !== "function") return false;
  return isAuthenticatable(userClass.prototype as object);
}

/** The column of a model's table that is not empty once an account is closed; `null` if accounts are never closed. */
export function closedColumnOf(users: object): string | null {
  return (userClassOf(users) as { readonly closedColumn?: string | null }).closedColumn ?? null;
}

/** Reports whether a user's account is closed. */
export function isClosed(user: object): boolean {
  const column = closedColumnOf(user.constructor);
  return column !== null && ((user as Readonly<Record<string, unknown>>)[column] ?? null) !== null;
}

/** The column of a model's table that is not empty while an account is blocked; `null` if its accounts never are. */
export function blockedColumnOf(users: object): string | null {
  return (users as { readonly blockedColumn?: string | null }).blockedColumn ?? null;
}

/** When a user's account was blocked; `null` if it isn't, or if the class doesn't track it. */
export function blockedAtOf(user: object): Date | null {
  const blockedAt = (user as Readonly<Record<string, unknown>>)[blockedColumnOf(user.constructor) ?? ""];
  return blockedAt instanceof Date ? blockedAt : null;
}

/** Reports whether a user's account is blocked. */
export function isBlocked(user: object): boolean {
  const { isBlocked: own } = user as Partial<Authenticatable>;
  return typeof own === "function" && own.call(user) === true;
}

/** The column of a model's table with the time at which a closed account is deleted; `null` if it has none. */
export function closingColumnOf(users: object): string | null {
  return (users as { readonly closingColumn?: string | null }).closingColumn ?? null;
}

/** When a user's account is deleted or anonymized; `null` if it hasn't been closed. */
export function closesAtOf(user: object): Date | null {
  const { closesAt } = user as Partial<Authenticatable>;
  return typeof closesAt === "function" ? closesAt.call(user) : null;
}

/** A user with information about whether the address is verified. */
export interface VerifiableUser {
  hasVerifiedEmail(): boolean;
}

/** Reports whether a user's class has the mixin `MustVerifyEmail`, or is a store's class that tracks verification. */
export function isVerifiable<U extends object>(user: U): user is U & VerifiableUser {
  const { accessEpoch, hasVerifiedEmail, verifyEmail } = user as Readonly<Record<string, unknown>>;
  if (typeof hasVerifiedEmail !== "function") return false;
  return typeof verifyEmail === "function" || typeof accessEpoch === "function";
}

/** Reports whether a user's address still has to be verified. */
export function awaitsVerification(user: object): boolean {
  return isVerifiable(user) && !user.hasVerifiedEmail();
}

/**
 * Reports whether users of a class are users of a guard's model: the model itself, or a class that extends it and keeps
 * its rows in the same table of the same connection, such as a role with its own methods.
 *
 * A class that merely extends the model is not enough. A guard, a token and a link each store a primary key, and the
 * key of another table belongs to a different user. Classes that are not models have no table to compare, so only the
 * very same class passes; an object that finds users has the class that it names.
 */
export function isUserClassOf(userClass: unknown, model: object): boolean {
  const own = userClassOf(model);
  if (userClass === own) return true;
  if (typeof userClass !== "function" || !(userClass.prototype instanceof (own as UserClass))) return false;
  return keepsSameRows(userClass, own);
}

/** Reports whether a user is one of a guard's model, as {@link isUserClassOf} does for the user's class. */
export function isUserOf(user: object, model: object): boolean {
  return isUserClassOf(user.constructor, model);
}

/**
 * Reports whether two classes are models of one table, so that a primary key means the same row to both. Objects that
 * find users are compared by the class of these users.
 */
export function keepsSameRows(one: object, other: object): boolean {
  const [own, others] = [userClassOf(one), userClassOf(other)];
  return own === others || (isModel(own) && isModel(others) && haveSameTable(own, others));
}

/** Reports whether a class is a model, and therefore has a table. */
export function isModel(value: object): value is ModelClass {
  return (value as { readonly prototype?: unknown }).prototype instanceof Model;
}

/** The value of a model's primary key. */
export function keyOf(model: Model): UserId {
  const { primaryKey } = model.constructor as ModelClass;
  return (model as unknown as Record<string, UserId>)[primaryKey]!;
}
