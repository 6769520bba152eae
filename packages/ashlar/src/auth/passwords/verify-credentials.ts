import type { Model, ModelClass } from "../../database/index.ts";
import {
  matchPassword,
  normalizeKnownEmail,
  normalizePassword,
  type PasswordHasher,
  spellingsOfEmail,
} from "../../security/index.ts";
import { AshlarError, type ErrorCode } from "../../support/index.ts";
import {
  type Authenticatable,
  type AuthenticatableClass,
  closedColumnOf,
  type UserId,
} from "../users/authenticatable.ts";

/** Stored for a revoked password; no password has this hash. */
export const NO_PASSWORD = "!";

/** The hash in a user's column; `null` if the account has no password, or the column is empty. */
export function storedHash(column: string | null | undefined): string | null {
  return column === undefined || column === "" || column === NO_PASSWORD ? null : column;
}

/** The longest identifier that is looked up, in UTF-16 units. */
const MAX_IDENTIFIER_LENGTH = 254;

/** The codes of errors that mean that a hasher cannot create a hash now. */
const UNHASHED: readonly ErrorCode[] = ["E_OVERLOADED", "E_INVALID_PASSWORD"];

/**
 * Runs the comparison of a password.
 *
 * @param account the account; `null` if there isn't one
 * @param identifier the identifier in its normal form; `null` if the input cannot be one
 */
export type ComparesWithin = (
  account: Authenticatable | null,
  identifier: string | null,
  compare: () => Promise<boolean>,
) => Promise<boolean>;

/** The result of checking an identifier and a password. */
export interface CredentialCheck {
  /** The account with the identifier, or `null` if there isn't one. */
  readonly account: Authenticatable | null;
  /** Whether the password is the account's. */
  readonly valid: boolean;
  /** The identifier in its normal form, or `null` if the input cannot be one. */
  readonly identifier: string | null;
  /** Whether there was a password to try, and an account to try it on. */
  readonly tried: boolean;
}

/**
 * Checks that an identifier and a password belong together. This is the only place that decides it.
 *
 * An unknown account takes as much time as a wrong password. Input that is not text reaches neither the database nor
 * the hasher, and a blank password does not reach the hasher. A stored hash with outdated parameters, or of text that
 * was not normalized, is replaced by a new one of the same password.
 *
 * @param hasher the application's
 * @param model the class of the users
 * @param identifier the identifier that the user logs in with
 * @param password the password in plain text
 * @param within runs the comparison with the password of the account, or with none, within limits
 */
export async function verifyCredentials(
  hasher: PasswordHasher,
  model: AuthenticatableClass,
  identifier: unknown,
  password: unknown,
  within: ComparesWithin = (_account, _identifier, compare) => compare(),
): Promise<CredentialCheck> {
  const normalized = normalizeIdentifier(model, identifier);
  const isBlank = identifier === undefined || identifier === null || identifier === "";
  if (isBlank || typeof password !== "string") {
    return { account: null, valid: false, identifier: normalized, tried: false };
  }
  const account = normalized === null ? null : await model.findByIdentifier(normalized, identifier as string);
  if (!isPasswordGiven(password)) return { account, valid: false, identifier: normalized, tried: false };
  const hash = storedHash(account?.passwordHash());
  const valid = await within(account, normalized, async () => {
    const { fits, isAsTyped } = await matchPassword(hasher, hash, password);
    if (!fits || hash === null) return false;
    if (isAsTyped || hasher.needsRehash(hash)) await rehash(hasher, account!, hash, password);
    return true;
  });
  return { account, valid, identifier: normalized, tried: true };
}

/**
 * Replaces a hash. If the hasher is busy, or cannot hash the password, the old hash stays: the password is correct in
 * any case.
 */
async function rehash(hasher: PasswordHasher, account: Authenticatable, hash: string, password: string): Promise<void> {
  let made: string;
  try {
    made = await hasher.hash(normalizePassword(password));
  } catch (error) {
    if (error instanceof AshlarError && UNHASHED.includes(error.code)) return;
    throw error;
  }
  await account.storePasswordHash(made, hash);
}

/**
 * Reports whether a password is a user's. It takes as much time if there is no user, or if the user has no password.
 *
 * @param hasher the application's
 * @param password the password in plain text; anything other than text is never correct
 */
export async function isPasswordOf(
  hasher: PasswordHasher,
  user: Authenticatable | null,
  password: unknown,
): Promise<boolean> {
  if (!isPasswordGiven(password)) return false;
  const hash = storedHash(user?.passwordHash());
  const { fits } = await matchPassword(hasher, hash, password);
  return fits && hash !== null;
}

/** Reports whether a user has a password: users of an identity provider, for example, may not. */
export function hasPassword(user: Authenticatable): boolean {
  return storedHash(user.passwordHash()) !== null;
}

/** Reports whether there is a password to try. No account has a blank password, or one that isn't text. */
export function isPasswordGiven(password: unknown): password is string {
  return typeof password === "string" && password !== "";
}

/** An identifier in the form used to look up accounts; `null` if no account can have it. */
export function normalizeIdentifier(model: AuthenticatableClass, identifier: unknown): string | null {
  if (typeof identifier !== "string" || identifier.length > MAX_IDENTIFIER_LENGTH) return null;
  if (isAddress(model, identifier)) return normalizeKnownEmail(identifier);
  // A control character or half of a surrogate pair is an error in some databases; no account name contains one.
  if (identifier === "" || /\p{Cc}/u.test(identifier) || !identifier.isWellFormed()) return null;
  const normalized = model.normalizeIdentifier === undefined ? identifier : model.normalizeIdentifier(identifier);
  // A name must not become an address, which is another account's, only by being normalized.
  return normalized === null || normalized === "" || isAddress(model, normalized) ? null : normalized;
}

/** Reports whether an identifier is looked up as an address. */
export function isAddress(model: AuthenticatableClass, identifier: string): boolean {
  return model.identifierColumn === "email" || (model.identifiesByEmail === true && identifier.includes("@"));
}

/** All identifiers that a user can log in with, in the form used to look them up. */
export function identifiersOf(user: Authenticatable, model: AuthenticatableClass): readonly string[] {
  const { email } = user as { readonly email?: unknown };
  const address = model.identifiesByEmail === true ? normalizeIdentifier(model, email) : null;
  return [...new Set([identifierOf(user, model), ...(address === null ? [] : [address])])];
}

/** The identifier that a user logs in with, in the form used to look it up. */
export function identifierOf(user: Authenticatable, model: AuthenticatableClass): string {
  const own = (user as unknown as Record<string, unknown>)[model.identifierColumn];
  return normalizeIdentifier(model, own) ?? keyAccount(user.authId());
}

/** A text that names one account of a realm. */
export function accountName(realm: string, account: string): string {
  return `${realm}\0${account}`;
}

/** The name of an account that is identified by its primary key: identifiers contain no control characters. */
export function keyAccount(id: UserId): string {
  return `\0key ${id}`;
}

/** The search text. */
export interface SpelledText {
  /** The normalized identifier. */
  readonly normal: string;
  /** What was typed. */
  readonly typed: string;
  /** Returns a text's normal form; `null` if it doesn't have one. */
  readonly normalize: (text: string) => string | null;
}

/**
 * The row with the text's normal form; otherwise an older row with another spelling of it. It is one query, and which
 * one depends only on the typed text, so its time doesn't reveal whether there is an account. A closed account is not
 * found.
 *
 * @param column if it is `email`, the text is an address
 */
export async function findBySpelling<M extends Model>(
  model: ModelClass<M>,
  column: string,
  { normal, typed, normalize }: SpelledText,
): Promise<M | null> {
  // Text that no database can store isn't in any row.
  const spellings = new Set(
    [...(column === "email" ? spellingsOfEmail(normal) : [normal]), typed].filter(
      (text) => !text.includes("\0") && text.isWellFormed(),
    ),
  );
  if (spellings.size === 0) return null;
  const closed = closedColumnOf(model);
  const rows = model.rows().whereIn(column as never, [...spellings]);
  const found =
    spellings.size === 1 && closed === null
      ? [await model.findBy(column as never, normal)]
      : await (closed === null ? rows : rows.whereNull(closed as never)).get();
  const own = (user: M | null) => String((user as Record<string, unknown> | null)?.[column]);
  // Some columns treat different texts as equal, for example in accents. Attempts are counted by the normal form, so each
  // variant would allow more attempts at the same account.
  return found.find((user) => own(user) === normal) ?? found.find((user) => normalize(own(user)) === normal) ?? null;
}
