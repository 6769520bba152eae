import {
  type Authenticatable,
  type AuthenticatableClass,
  type Credential,
  type CredentialTable,
  type FoundCredential,
  hasExpired,
  SharedCredentials,
} from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { digest } from "../../security/index.ts";
import { AshlarError, currentDate, type Message, ValidationError } from "../../support/index.ts";
import { type GrantedAbilities, joined, MAX_ABILITIES, split } from "../abilities.ts";
import type { TokenEvents } from "../events.ts";
import { message } from "../messages.ts";
import { type CompleteJwtSettings, requireUsersOf } from "../settings/driver-settings.ts";
import type { PersonalTokensSettings } from "../settings/token-settings.ts";
import type { TokenMails } from "../token-mails.ts";
import type { FoundToken, RefusedToken, VerifiedToken, Verifier } from "../verifier.ts";
import { isTokenName, isTokenText, makeTokenText } from "./token-text.ts";

/** The table of personal tokens. */
export const PERSONAL_TOKEN_TABLE = "personal_tokens";

const DAY_MS = 86_400_000;
/** The maximum length of the list, newest first: all active tokens, and some of the expired ones. */
const MAX_LISTED = 500;
/** The longest lifetime that the form offers if there is no maximum. */
const MAX_CHOSEN_DAYS = 3650;

/** A token's columns that other credentials don't have. */
interface Columns {
  readonly name: string;
  /** The abilities, separated by spaces; `null` for all that the user may give to a token. */
  readonly abilities: string | null;
}

interface Hidden {
  readonly token_hash: string;
  /** The digest of the form's identifier; `null` without a form. */
  readonly form_hash: string | null;
}

/** A personal token, as shown to its user. */
export interface PersonalToken {
  /** The argument for `revoke`. */
  readonly id: string;
  readonly name: string;
  /** The token's abilities; `null` if it has all. */
  readonly abilities: readonly string[] | null;
  readonly createdAt: Date;
  /** When it was last used, to the minute; `null` if never. */
  readonly lastUsedAt: Date | null;
  /** When it expires; `null` if never. */
  readonly expiresAt: Date | null;
  readonly isExpired: boolean;
}

/** A personal token that was just created. */
export interface CreatedPersonalToken extends Omit<PersonalToken, "lastUsedAt" | "isExpired"> {
  /** The token itself. It can't be recovered later, because the database only has its digest. */
  readonly token: string;
}

/** The properties of a new personal token. */
export interface PersonalTokenRequest {
  /** Its name for the user, 1 to 100 characters. */
  readonly name: string;
  /** The token's abilities; `null` if it has all, which only an application without `ABILITIES` allows. */
  readonly abilities: readonly string[] | null;
  /** How many days it is valid; `null` if it doesn't expire, which requires `maximumDays: null`. */
  readonly days: number | null;
  /** Identifies the form, so that submitting it twice creates one token. */
  readonly form?: string | null;
  /** The client's address for the audit trail; `null` outside of a request. */
  readonly address?: string | null;
}

/** What a personal token proves: it was looked up together with its user. */
interface VerifiedPersonalToken extends VerifiedToken {
  readonly found: FoundCredential<Columns, Authenticatable>;
}

/** The dependencies of {@link PersonalStore}. */
interface PersonalDependencies {
  readonly abilities: GrantedAbilities;
  readonly events: TokenEvents;
  readonly mails: TokenMails;
  readonly table: SharedCredentials<Columns, Hidden>;
}

/** Creates the table shared by an application's drivers with `personal()`. */
export function createPersonalTable(application: Application): SharedCredentials<Columns, Hidden> {
  return new SharedCredentials<Columns, Hidden>(application, {
    table: PERSONAL_TOKEN_TABLE,
    columns: { name: "text", abilities: "text" },
    hidden: ["token_hash", "form_hash"],
    exported: ["id", "guard", "name", "abilities", "last_used_at", "expires_at", "revoked_at", "created_at"],
    words: ["a personal token", "personal tokens"],
    useIntervalMs: 60_000,
    // How long users can still see an expired token.
    endedDays: 30,
  });
}

/**
 * The personal tokens of one driver's users: random texts, whose digests are in the table. Each request with such a
 * token looks it up, together with its user.
 */
export class PersonalStore implements Verifier {
  readonly authenticates = true;
  readonly isHeaderOnly = true;
  readonly options: PersonalTokensSettings;
  readonly #settings: CompleteJwtSettings;
  readonly #abilities: GrantedAbilities;
  readonly #events: TokenEvents;
  readonly #mails: TokenMails;
  readonly #table: SharedCredentials<Columns, Hidden>;
  readonly #tokens: CredentialTable<Columns, Hidden>;

  constructor(settings: CompleteJwtSettings, { abilities, events, mails, table }: PersonalDependencies) {
    this.options = settings.personal!;
    this.#settings = settings;
    this.#abilities = abilities;
    this.#events = events;
    this.#mails = mails;
    this.#table = table;
    this.#tokens = table.of(settings.name, settings.model, settings.version);
  }

  /** The class of the tokens' users. */
  get model(): AuthenticatableClass {
    return this.#settings.model;
  }

  recognizes(token: string): boolean {
    return token.startsWith(this.options.prefix);
  }

  async verify(token: string): Promise<VerifiedToken | RefusedToken> {
    const found = await this.#find(token);
    if ("failure" in found) return found;
    const { credential, user } = found;
    // A token loses abilities that its user may no longer give.
    const abilities = await this.#abilities.limit(user, split(credential.abilities));
    const verified: VerifiedPersonalToken = {
      userId: String(credential.user_id),
      claims: null,
      abilities: abilities && new Set(abilities),
      id: credential.id,
      found,
    };
    return verified;
  }

  findUser(_token: string, verified: VerifiedToken, { isReadOnly }: HttpContext): Authenticatable {
    const { credential, user } = (verified as VerifiedPersonalToken).found;
    if (!isReadOnly) this.#table.noteUse(this.#settings.name, credential);
    return user;
  }

  /**
   * Creates a token for a user. It doesn't require a proof; for requests by users themselves, use
   * `context.personalTokens`.
   *
   * @returns the token, which is stored nowhere; `null` if a token has already been created with this form
   * @throws `E_INVALID_INPUT` if the request is not allowed, or if the user has too many tokens; `E_STALE_PROOF` if access
   * to the account has ended since the user was read; `E_INVALID_MODEL` for a user of a class other than the driver's
   * `model`
   */
  async issue(user: Authenticatable, request: PersonalTokenRequest): Promise<CreatedPersonalToken | null> {
    requireUsersOf(this.#settings, user.constructor);
    const abilities = await this.#checked(user, request);
    const token = makeTokenText(this.options.prefix);
    const name = request.name.trim();
    const createdAt = currentDate();
    const expiresAt = request.days === null ? null : new Date(createdAt.getTime() + request.days * DAY_MS);
    const id = await this.#insert(user, {
      name,
      abilities: joined(abilities),
      token_hash: digest(token),
      form_hash: this.#formHash(user, request.form ?? null),
      expires_at: expiresAt,
      created_at: createdAt,
    });
    if (id === null) return null;
    try {
      await this.#requireRoom(user);
      await this.#mails.queue("tokenCreated", user, { name, createdAt, expiresAt });
    } catch (error) {
      await this.#tokens.delete({ id });
      throw error;
    }
    const facts = { userId: String(user.authId()), tokenId: id, name };
    this.#events.emit("api.personal_token_issued", request.address ?? null, facts);
    return { id, token, name, abilities, createdAt, expiresAt };
  }

  /**
   * A user's tokens, newest first, including those that expired in the last few days.
   *
   * @throws `E_INVALID_MODEL` as {@link issue}
   */
  async list(user: Authenticatable): Promise<readonly PersonalToken[]> {
    requireUsersOf(this.#settings, user.constructor);
    return (await this.#tokens.list(user, { limit: MAX_LISTED, withExpired: true })).map(described);
  }

  /**
   * The abilities that a user may give to a token; `null` if the application lists none, in which case every token has
   * all abilities.
   */
  abilitiesOf(user: Authenticatable): Promise<readonly string[] | null> {
    return this.#abilities.allowed(user);
  }

  /**
   * Revokes a token.
   *
   * @param id the token's id, as in {@link list}; it may come from an input
   * @param owner the token's required owner; `null` for any
   * @param address the client's address for the audit trail; `null` outside of a request
   * @returns whether there was such a token
   * @throws `E_INVALID_MODEL` as {@link issue}
   */
  async revoke(id: string, owner: Authenticatable | null, address: string | null): Promise<boolean> {
    // Another class's user with the same key is another person.
    if (owner !== null) requireUsersOf(this.#settings, owner.constructor);
    const credential = await this.#tokens.get("id", id);
    if (credential === null || (owner !== null && String(credential.user_id) !== String(owner.authId()))) return false;
    return this.#revoke(credential, address);
  }

  /** Finds a token, active or not; `null` if it never existed. */
  async findIssued(token: string): Promise<FoundToken | null> {
    const found = await this.#find(token);
    const isActive = !("failure" in found);
    const owner = isActive ? String(found.credential.user_id) : found.userId;
    if (owner === null) return null;
    return { owner, revoke: async (address) => isActive && this.#revoke(found.credential, address) };
  }

  async #find(token: string): Promise<FoundCredential<Columns, Authenticatable> | RefusedToken> {
    if (!isTokenText(token, this.options.prefix)) return { failure: "malformed", userId: null };
    const found = await this.#tokens.find("token_hash", digest(token));
    if (found === null) return { failure: "inactive", userId: null };
    if (this.#tokens.isActive(found)) return found;
    const failure = this.#tokens.stateOf(found) === "expired" ? "expired" : "inactive";
    return { failure, userId: String(found.credential.user_id) };
  }

  async #revoke({ id, user_id, name }: Credential<Columns>, address: string | null): Promise<boolean> {
    const isRevoked = await this.#tokens.revoke({ id, user_id });
    const facts = { userId: String(user_id), tokenId: id, name };
    if (isRevoked) this.#events.emit("api.personal_token_revoked", address, facts);
    return isRevoked;
  }

  /** @returns the abilities of the new token */
  async #checked(
    user: Authenticatable,
    { name, abilities, days }: PersonalTokenRequest,
  ): Promise<readonly string[] | null> {
    const { maximumDays: maximum } = this.options;
    const errors: Record<string, Message[]> = {};
    if (!isTokenName(name)) errors.name = [message("api.input.name")];
    if (!isLifetime(days, maximum)) {
      errors.days = [maximum === null ? message("api.personal.days") : message("api.personal.daysUpTo", { maximum })];
    }
    // An empty selection must never mean all abilities.
    if ((abilities === null || abilities.length === 0) && (await this.#abilities.allowed(user)) !== null) {
      errors.abilities = [message("api.personal.noAbilities")];
    } else if (abilities !== null) {
      const isTooLong = abilities.length > MAX_ABILITIES;
      const refusal = isTooLong ? message("api.input.abilities") : await this.#abilities.refusalOf(user, abilities);
      if (refusal !== null) errors.abilities = [refusal];
    }
    if (Object.keys(errors).length > 0) throw new ValidationError(errors);
    return abilities && [...new Set(abilities)];
  }

  async #insert(
    user: Authenticatable,
    values: Parameters<CredentialTable<Columns, Hidden>["insert"]>[1],
  ): Promise<string | null> {
    let id: string | null;
    try {
      id = await this.#tokens.insert(user, values);
    } catch (error) {
      const isTaken = error instanceof AshlarError && error.code === "E_UNIQUE_VIOLATION";
      if (isTaken && values.form_hash !== null) return null;
      throw error;
    }
    if (id === null) throw new AshlarError("E_STALE_PROOF");
    return id;
  }

  /** Counted after the insert, so that concurrent requests don't count too few tokens. */
  async #requireRoom(user: Authenticatable): Promise<void> {
    const { maxPerUser } = this.options;
    if ((await this.#tokens.count(user)) <= maxPerUser) return;
    throw new ValidationError({ "": [message("api.personal.tooMany", { count: maxPerUser })] });
  }

  /** Bound to the user, so that another user's form can't collide with it. */
  #formHash(user: Authenticatable, form: string | null): string | null {
    return form === null ? null : digest(JSON.stringify([this.#settings.name, String(user.authId()), form]));
  }
}

function described(credential: Credential<Columns>): PersonalToken {
  const { id, name, created_at: createdAt, last_used_at: lastUsedAt, expires_at: expiresAt } = credential;
  const isExpired = hasExpired(credential);
  return { id, name, abilities: split(credential.abilities), createdAt, lastUsedAt, expiresAt, isExpired };
}

function isLifetime(days: number | null, maximum: number | null): boolean {
  if (days === null) return maximum === null;
  return Number.isSafeInteger(days) && days >= 1 && days <= (maximum ?? MAX_CHOSEN_DAYS);
}
