import {
  type ActiveCredential,
  type Authenticatable,
  type CredentialUse,
  hasExpired,
  type LoginUses,
  staleProof,
} from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { digest } from "../../security/index.ts";
import { AshlarError, currentDate, type FieldErrors, now, ValidationError } from "../../support/index.ts";
import { abilitiesIn, type GrantedAbilities, MAX_ABILITIES, scopeOf } from "../abilities.ts";
import { message } from "../messages.ts";
import type { CompleteJwtSettings } from "../settings.ts";
import type { TokenEvents } from "../token-events.ts";
import { isTokenName } from "../token-name.ts";
import { isRefused, type RefusedToken, type TokenVerifier, type VerifiedToken } from "../token-verifier.ts";
import type { PersonalTokenColumns, PersonalTokenRow, PersonalTokenTable } from "./personal-token-table.ts";
import type { PersonalTokensSettings } from "./settings.ts";
import { isTokenText, makeTokenText } from "./token-text.ts";

const DAY_MS = 86_400_000;
/** A use is recorded at most this often. */
const USE_INTERVAL_MS = 60_000;
/** Listed at most, newest first: all active ones, and some of those that have expired. */
const MAX_LISTED = 500;
/** The longest lifetime that can be chosen if there is no maximum. */
const MAX_CHOSEN_DAYS = 3650;

/** What a user knows of a personal token. */
export interface PersonalToken {
  /** What `revoke` takes. */
  readonly id: string;
  readonly name: string;
  /** What it may be used for; `null`: everything. */
  readonly abilities: readonly string[] | null;
  readonly createdAt: Date;
  /** When it was last used, to the minute; `null`: never. */
  readonly lastUsedAt: Date | null;
  /** `null`: never. */
  readonly expiresAt: Date | null;
  readonly isExpired: boolean;
}

/** A personal token that was just created. */
export interface CreatedPersonalToken extends Omit<PersonalToken, "lastUsedAt" | "isExpired"> {
  /** The token itself. It can't be found out again: the database has its digest only. */
  readonly token: string;
}

/** What a personal token is to be. */
export interface PersonalTokenRequest {
  /** What its user knows it by: 1 to 100 characters. */
  readonly name: string;
  /** What it may be used for; `null`: everything, which only an application without `ABILITIES` allows. */
  readonly abilities: readonly string[] | null;
  /** For how many days it is valid; `null`: without an end, which only `maximumDays: null` allows. */
  readonly days: number | null;
  /** Tells one sending of a form from another, so that a form that is sent twice makes one token. */
  readonly form?: string | null;
  /** The client's address for the audit trail; `null` outside of a request. */
  readonly address?: string | null;
}

/** The dependencies of {@link PersonalTokenService}. */
export interface PersonalTokenDependencies {
  readonly settings: CompleteJwtSettings & { readonly personal: PersonalTokensSettings };
  readonly rows: PersonalTokenTable;
  readonly abilities: GrantedAbilities;
  readonly events: TokenEvents;
  readonly uses: LoginUses<CredentialUse>;
  /** Makes sure that users of a class are those of the driver. */
  readonly requireUserClass: (userClass: object) => void;
  /** Tells the owner about a new token. */
  readonly tellOwner: (user: Authenticatable, token: CreatedPersonalToken) => Promise<void>;
}

/** What a personal token proves: it was looked up together with its user. */
interface VerifiedPersonalToken extends VerifiedToken {
  readonly row: PersonalTokenRow;
  readonly user: Authenticatable;
}

/** A token that can be used, and its user. */
type FoundActiveToken = ActiveCredential<PersonalTokenColumns>;

/** Whose token was found, also if it can't be used; `null` if there is none. */
export function ownerOf(found: FoundActiveToken | RefusedToken): string | null {
  return isRefused(found) ? found.userId : String(found.credential.user_id);
}

/**
 * Creates, verifies and revokes the personal tokens of one driver's users: random texts, of which the table has the digest.
 * Each request with one looks it up, together with its user.
 */
export class PersonalTokenService implements TokenVerifier {
  readonly authenticates = true;
  readonly isHeaderOnly = true;
  readonly #dependencies: PersonalTokenDependencies;

  constructor(dependencies: PersonalTokenDependencies) {
    this.#dependencies = dependencies;
  }

  get settings(): PersonalTokenDependencies["settings"] {
    return this.#dependencies.settings;
  }

  recognizes(token: string): boolean {
    return token.startsWith(this.settings.personal.prefix);
  }

  async verify(token: string): Promise<VerifiedToken | RefusedToken> {
    const found = await this.find(token);
    if (isRefused(found)) return found;
    const { credential: row, user } = found;
    // What its user may no longer let a token do, this one no longer may, either.
    const abilities = await this.#dependencies.abilities.limit(user, abilitiesIn(row.abilities));
    const verified: VerifiedPersonalToken = {
      userId: String(row.user_id),
      claims: null,
      abilities: abilities === null ? null : new Set(abilities),
      id: row.id,
      row,
      user,
    };
    return verified;
  }

  findUser(_token: string, verified: VerifiedToken, { isReadOnly }: HttpContext): Authenticatable {
    const { row, user } = verified as VerifiedPersonalToken;
    if (!isReadOnly) this.#noteUse(row);
    return user;
  }

  /**
   * Creates a token for a user. It asks for no proof: where a user asks for one, use `context.personalTokens`.
   *
   * @returns the token, which is stored nowhere; `null` if the form has already made one
   * @throws `E_INVALID_INPUT` if the request is not allowed, or if the user has too many tokens; `E_STALE_PROOF` if access
   * to the account has ended since the user was read; `E_INVALID_MODEL` for a user of a class other than the driver's
   * `model`
   */
  async issue(user: Authenticatable, request: PersonalTokenRequest): Promise<CreatedPersonalToken | null> {
    const { rows, events, tellOwner, requireUserClass } = this.#dependencies;
    requireUserClass(user.constructor);
    const abilities = await this.#checked(user, request);
    const token = makeTokenText(this.settings.personal.prefix);
    const createdAt = currentDate();
    const expiresAt = request.days === null ? null : new Date(createdAt.getTime() + request.days * DAY_MS);
    const id = await this.#insert(user, {
      name: request.name.trim(),
      abilities: abilities === null ? null : scopeOf(abilities),
      token_hash: digest(token),
      form_hash: this.#formHash(user, request.form ?? null),
      expires_at: expiresAt,
      created_at: createdAt,
    });
    if (id === null) return null;
    const created = { id, token, name: request.name.trim(), abilities, createdAt, expiresAt };
    try {
      await this.#requireRoom(user);
      await tellOwner(user, created);
    } catch (error) {
      await rows.delete({ id });
      throw error;
    }
    events.personalIssued(String(user.authId()), created, request.address ?? null);
    return created;
  }

  /**
   * A user's tokens, newest first, with those that have expired in the last days.
   *
   * @throws `E_INVALID_MODEL` as {@link issue}
   */
  async list(user: Authenticatable): Promise<readonly PersonalToken[]> {
    this.#dependencies.requireUserClass(user.constructor);
    const rows = await this.#dependencies.rows.list(user, { limit: MAX_LISTED, withExpired: true });
    return rows.map(described);
  }

  /** The abilities that a user may give to a token; `null` if the application lists none: every token may do everything. */
  abilitiesOf(user: Authenticatable): Promise<readonly string[] | null> {
    return this.#dependencies.abilities.allowed(user);
  }

  /**
   * Revokes a token.
   *
   * @param id as in {@link list}; it may come from an input
   * @param owner the user whose token it has to be; `null`: anyone's
   * @param address the client's address for the audit trail; `null` outside of a request
   * @returns whether there was such a token
   * @throws `E_INVALID_MODEL` as {@link issue}
   */
  async revoke(id: string, owner: Authenticatable | null, address: string | null): Promise<boolean> {
    // Another class's user with the same key is another person.
    if (owner !== null) this.#dependencies.requireUserClass(owner.constructor);
    const row = await this.#dependencies.rows.get("id", id);
    if (row === null || (owner !== null && String(row.user_id) !== String(owner.authId()))) return false;
    return this.#revoke(row, address);
  }

  /** Revokes the token that a request carries, for a logout. */
  async revokePresented(token: string, address: string | null): Promise<void> {
    await this.revokeFound(await this.find(token), address);
  }

  /** @internal Revokes a token as {@link find} found it. */
  async revokeFound(found: FoundActiveToken | RefusedToken, address: string | null): Promise<void> {
    if (!isRefused(found)) await this.#revoke(found.credential, address);
  }

  /** @internal Looks a token up; {@link ownerOf} says whose it is. */
  async find(token: string): Promise<FoundActiveToken | RefusedToken> {
    if (!isTokenText(token, this.settings.personal.prefix)) return { failure: "malformed", userId: null };
    const { rows } = this.#dependencies;
    const found = await rows.find("token_hash", digest(token));
    if (found === null) return { failure: "inactive", userId: null };
    if (rows.isActive(found)) return found;
    const failure = rows.stateOf(found) === "expired" ? "expired" : "inactive";
    return { failure, userId: String(found.credential.user_id) };
  }

  async #revoke(row: PersonalTokenRow, address: string | null): Promise<boolean> {
    const { id, user_id, name } = row;
    const isRevoked = await this.#dependencies.rows.revoke({ id, user_id });
    if (isRevoked) this.#dependencies.events.personalRevoked(String(user_id), { id, name }, address);
    return isRevoked;
  }

  /** @returns the abilities of the new token */
  async #checked(
    user: Authenticatable,
    { name, abilities, days }: PersonalTokenRequest,
  ): Promise<readonly string[] | null> {
    const { maximumDays } = this.settings.personal;
    const errors: Record<string, FieldErrors[string]> = {};
    if (!isTokenName(name)) errors.name = [message("api.input.name")];
    if (!isLifetime(days, maximumDays)) {
      errors.days = [
        maximumDays === null
          ? message("api.personal.days")
          : message("api.personal.daysUpTo", { maximum: maximumDays }),
      ];
    }
    const { abilities: granted } = this.#dependencies;
    const allowed = await granted.allowed(user);
    // Nothing chosen must never mean everything.
    if (allowed !== null && (abilities === null || abilities.length === 0)) {
      errors.abilities = [message("api.personal.noAbilities")];
    } else if (abilities !== null) {
      const isTooLong = abilities.length > MAX_ABILITIES;
      const refusal = isTooLong ? message("api.input.abilities") : await granted.refusalOf(user, abilities);
      if (refusal !== null) errors.abilities = [refusal];
    }
    if (Object.keys(errors).length > 0) throw new ValidationError(errors);
    return abilities === null ? null : [...new Set(abilities)];
  }

  async #insert(user: Authenticatable, row: Parameters<PersonalTokenTable["insert"]>[1]): Promise<string | null> {
    let id: string | null;
    try {
      id = await this.#dependencies.rows.insert(user, row);
    } catch (error) {
      const isRepeated = error instanceof AshlarError && error.code === "E_UNIQUE_VIOLATION" && row.form_hash !== null;
      if (isRepeated) return null;
      throw error;
    }
    if (id === null) throw staleProof();
    return id;
  }

  /** Counted after the insert: of concurrent requests, none sees fewer tokens than there are. */
  async #requireRoom(user: Authenticatable): Promise<void> {
    const { maxPerUser } = this.settings.personal;
    if ((await this.#dependencies.rows.count(user)) <= maxPerUser) return;
    throw new ValidationError({ "": [message("api.personal.tooMany", { count: maxPerUser })] });
  }

  /** Bound to the user, so that no one else's form can be in the way. */
  #formHash(user: Authenticatable, form: string | null): string | null {
    return form === null ? null : digest(JSON.stringify([this.settings.name, String(user.authId()), form]));
  }

  #noteUse({ id, last_used_at }: PersonalTokenRow): void {
    if (last_used_at !== null && now() - last_used_at.getTime() < USE_INTERVAL_MS) return;
    this.#dependencies.uses.note({ guard: this.settings.name, id, at: currentDate() });
  }
}

function described(row: PersonalTokenRow): PersonalToken {
  const { id, name, created_at: createdAt, last_used_at: lastUsedAt, expires_at: expiresAt } = row;
  return {
    id,
    name,
    abilities: abilitiesIn(row.abilities),
    createdAt,
    lastUsedAt,
    expiresAt,
    isExpired: hasExpired(row),
  };
}

function isLifetime(days: number | null, maximum: number | null): boolean {
  if (days === null) return maximum === null;
  return Number.isSafeInteger(days) && days >= 1 && days <= (maximum ?? MAX_CHOSEN_DAYS);
}
