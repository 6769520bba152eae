import { type Authenticatable, asAuthenticatable } from "../../auth/index.ts";
import type { Authenticators, AuthenticatorTable } from "../../authenticators/index.ts";
import { UniqueViolationError } from "../../database/index.ts";
import { digest, randomToken } from "../../security/index.ts";
import { currentDate } from "../../support/index.ts";
import type { CredentialUse, NewCredential } from "../ceremony/webauthn.ts";

/** The name of the kind of authenticators, and of the proof. */
export const PASSKEY = "passkey";

/** How many passkeys a user can have. Browsers get the list of them. */
export const MAX_PASSKEYS = 30;

const HANDLE_BYTES = 32;
const MAX_NAME = 100;

/** A passkey as its owner sees it. */
export interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  /** When it was last used; `null` if never. */
  readonly lastUsedAt: Date | null;
  /** Whether it is on all of the user's devices, as those of a password manager are. */
  readonly isSynced: boolean;
}

/** What is stored about a passkey, besides its name, its counter and times. */
interface StoredData {
  /** The credential's id, in base64url. */
  readonly credentialId: string;
  /** In COSE form, in base64url. */
  readonly publicKey: string;
  /** What the authenticator knows the user by: random, in base64url; `null` until it tells, if another system has set it. */
  readonly userHandle: string | null;
  readonly transports: readonly string[];
  readonly aaguid: string;
  readonly isSynced: boolean;
  readonly isBackedUp: boolean;
}

/** A stored passkey. */
export interface StoredPasskey extends Passkey, StoredData {
  /** How often it was used, as its authenticator counts; 0 if it doesn't. */
  readonly counter: number;
}

/** A stored passkey, and its user. */
export interface OwnedPasskey {
  readonly passkey: StoredPasskey;
  readonly owner: Authenticatable;
}

type Row = Awaited<ReturnType<AuthenticatorTable["list"]>>[number];

/** The passkeys of users, in the table of authenticators. */
export class PasskeyStore {
  readonly #authenticators: () => Authenticators;

  constructor(authenticators: () => Authenticators) {
    this.#authenticators = authenticators;
  }

  /** The passkeys of a user, newest first. */
  async list(user: object): Promise<readonly StoredPasskey[]> {
    const rows = await this.#tableOf(user).list(asAuthenticatable(user));
    return rows.map(passkeyFrom);
  }

  /** How many passkeys a user has. */
  count(user: object): Promise<number> {
    return this.#tableOf(user).count(asAuthenticatable(user));
  }

  /**
   * Finds a passkey of a guard's users, whether its user is blocked or not.
   *
   * @param credentialId may come from an input
   */
  async find(guard: string, credentialId: string): Promise<OwnedPasskey | null> {
    const found = await this.#authenticators().table(PASSKEY, guard).find("handle", digest(credentialId));
    if (found === null || found.user === null) return null;
    return { passkey: passkeyFrom(found.credential), owner: found.user };
  }

  /** What authenticators know a user by: the same for all passkeys of a user. */
  async userHandleOf(user: object): Promise<string> {
    return userHandleOf(await this.list(user));
  }

  /**
   * Stores a new passkey.
   *
   * @returns its id; `null` if access to the account has ended since the user was read; `"known"` if it is stored
   * already, for any user
   */
  async add(
    user: object,
    { id, publicKey, counter, aaguid, isSynced, isBackedUp }: NewCredential,
    { name, userHandle, transports }: Pick<StoredPasskey, "name" | "userHandle" | "transports">,
  ): Promise<{ readonly id: string } | "known" | null> {
    const stored: StoredData = { credentialId: id, publicKey, userHandle, transports, aaguid, isSynced, isBackedUp };
    const values = { name, handle: digest(id), data: JSON.stringify(stored), counter };
    try {
      const key = await this.#tableOf(user).insert(asAuthenticatable(user), values);
      return key === null ? null : { id: key };
    } catch (error) {
      if (error instanceof UniqueViolationError) return "known";
      throw error;
    }
  }

  /**
   * Records a use, with one statement: of two requests with the same counter, one wins, unless the authenticator doesn't
   * count.
   *
   * @param userHandle what the authenticator has told
   * @returns whether the counter was still as read
   */
  recordUse(
    user: object,
    passkey: StoredPasskey,
    { counter, isBackedUp }: CredentialUse,
    userHandle: string | null = passkey.userHandle,
  ): Promise<boolean> {
    const { id, credentialId, publicKey, transports, aaguid, isSynced } = passkey;
    const stored: StoredData = { credentialId, publicKey, userHandle, transports, aaguid, isSynced, isBackedUp };
    const isSame = isBackedUp === passkey.isBackedUp && userHandle === passkey.userHandle;
    const changed = isSame ? {} : { data: JSON.stringify(stored) };
    const before = { id, user_id: asAuthenticatable(user).authId(), counter: passkey.counter };
    return this.#tableOf(user).update(before, { ...changed, counter, last_used_at: currentDate() });
  }

  /**
   * Renames a passkey of a user.
   *
   * Security: id and owner are in one statement, whatever the id.
   *
   * @returns whether the user has it
   */
  rename(user: object, id: string, name: string): Promise<boolean> {
    return this.#tableOf(user).update({ id, user_id: asAuthenticatable(user).authId() }, { name });
  }

  /** Deletes a passkey of a user, as {@link rename} finds it. */
  remove(user: object, id: string): Promise<boolean> {
    return this.#tableOf(user).delete({ id, user_id: asAuthenticatable(user).authId() });
  }

  #tableOf(user: object): AuthenticatorTable {
    return this.#authenticators().tableOf(PASSKEY, user);
  }
}

/** What authenticators know a user with these passkeys by. */
export function userHandleOf(own: readonly StoredPasskey[]): string {
  return own.find(({ userHandle }) => userHandle !== null)?.userHandle ?? newUserHandle();
}

/** What authenticators know a new user by. */
export function newUserHandle(): string {
  return randomToken(HANDLE_BYTES);
}

/**
 * The name of a passkey from an input.
 *
 * @returns `null` if it can't be one
 */
export function passkeyNameFrom(input: unknown): string | null {
  if (typeof input !== "string" || !input.isWellFormed()) return null;
  const name = input.trim();
  return name === "" || name.length > MAX_NAME || /[\p{Cc}\p{Zl}\p{Zp}]/u.test(name) ? null : name;
}

function passkeyFrom({ id, name, data, counter, created_at, last_used_at }: Row): StoredPasskey {
  const stored = JSON.parse(data!) as StoredData;
  return { ...stored, id, name: name ?? "", counter, createdAt: created_at, lastUsedAt: last_used_at };
}
