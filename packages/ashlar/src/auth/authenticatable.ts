/** The value of a user's primary key. */
export type UserId = string | number | bigint;

/**
 * What auth asks of a user. The mixin {@link Authenticates} gives it to a model; a class of another ORM can be a user
 * by having these three methods.
 */
export interface Authenticatable {
  /** The user's primary key. */
  authId(): UserId;
  /** The stored hash of the user's password, or `null` where the user has none and so cannot log in with one. */
  passwordHash(): string | null;
  /**
   * Stores a new hash of the same password, provided that `replaced` still is the stored one: a password that was
   * changed meanwhile must not be put back.
   */
  storePasswordHash(hash: string, replaced: string): Promise<void>;
  /**
   * The user's access epoch, as the user was read: a value that changes whenever access to the account ends, because its
   * password or address was set, or because it was logged out everywhere. Logins and links in mails are bound to it.
   *
   * A class that leaves it out has a fingerprint of the password hash and of `email` in its place.
   *
   * Security: make it of random bits, never of a counter or a time. For a class that is not a model, a login that is
   * under way while the epoch changes is stored, found to be void, and removed.
   */
  accessEpoch?(): string;
}

/** A class whose instances are users. */
export type UserClass = abstract new (...args: never[]) => object;

/**
 * How users are found: what auth asks of a user's class, or of an object that finds the users of `userClass`. Users that are
 * found this way can log in; for accounts that are registered and change, see {@link AccountStore}.
 */
export interface AuthenticatableClass {
  /** The name of the class of users, for messages. */
  readonly name: string;
  /** The class of the users; left out if it is this class itself. */
  readonly userClass?: UserClass;
  /** What users log in with; under the name `email` it is normalised as an address before it is looked for. */
  readonly identifierColumn: string;
  /** The user with this primary key, or `null`. */
  findByAuthId(id: UserId): Promise<Authenticatable | null>;
  /** The user with this identifier, or `null`. */
  findByIdentifier(identifier: string): Promise<Authenticatable | null>;
}

/** The class of the users that a class, or an object, finds. */
export function userClassOf(users: object): object {
  return typeof users === "function" ? users : ((users as Partial<AuthenticatableClass>).userClass ?? users);
}

/** Tells whether a class, or an object, has what auth asks for to find users, and these have what auth asks of a user. */
export function isAuthenticatableClass(value: unknown): value is AuthenticatableClass {
  if ((typeof value !== "function" && typeof value !== "object") || value === null) return false;
  const { name, identifierColumn, findByAuthId, findByIdentifier } = value as unknown as Record<string, unknown>;
  if (typeof name !== "string" || typeof identifierColumn !== "string") return false;
  if (typeof findByAuthId !== "function" || typeof findByIdentifier !== "function") return false;
  const userClass = userClassOf(value);
  if (typeof userClass !== "function") return false;
  const { authId, passwordHash, storePasswordHash } = userClass.prototype as Record<string, unknown>;
  return [authId, passwordHash, storePasswordHash].every((method) => typeof method === "function");
}
