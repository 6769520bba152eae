import { type Authenticatable, type CredentialUse, deviceName, type LoginUses, staleProof } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { digest } from "../../security/index.ts";
import { currentDate, isThenable, type MaybePromise, now } from "../../support/index.ts";
import { abilitiesIn, type GrantedAbilities, scopeOf } from "../abilities.ts";
import type { TokenService } from "../token-service.ts";
import type {
  AdmitRenewal,
  IssuedToken,
  ManyTokensSettings,
  RenewedToken,
  TokenRequest,
  TokenStrategy,
} from "../token-strategy.ts";
import { isRefused, type RefusedToken, type VerifiedJwt } from "../token-verifier.ts";
import type { RefreshClaim, RefreshTokens } from "./refresh-tokens.ts";
import {
  type ActiveToken,
  type FoundToken,
  MAX_REPLACED,
  replacedAt,
  replacedColumn,
  type TokenRow,
  type TokenTable,
} from "./token-table.ts";

const DAY_MS = 86_400_000;
/** A use is recorded at most this often. */
const USE_INTERVAL_MS = 5 * 60_000;
const MAX_DEVICE_LENGTH = 255;
/** Of concurrent renewals one wins; the others find its successor when they look again. */
const MAX_ROUNDS = 4;

/** A refresh token that was used again after it was replaced. */
export interface ReusedToken {
  readonly user: Authenticatable;
  /** The name of the token. */
  readonly name: string;
  readonly address: string | null;
}

/** The dependencies of {@link ManyTokens}. */
export interface ManyTokensDependencies {
  readonly rows: TokenTable;
  /** Runs work in a transaction of the table's database. */
  readonly transaction: <T>(work: () => Promise<T>) => Promise<T>;
  readonly refreshTokens: RefreshTokens;
  readonly abilities: GrantedAbilities;
  readonly uses: LoginUses<CredentialUse>;
  /** Tells that the oldest tokens of a user were ended, because there are too many. */
  readonly tellEnded: (userId: string, count: number, address: string | null) => void;
  /** Tells about a family that was ended because a token of it was used again. */
  readonly tellReuse: (reused: ReusedToken) => Promise<void>;
}

/** What a refresh token is, by the row of its family. */
type Presented =
  | { readonly is: "current"; readonly found: ActiveToken }
  | { readonly is: "replaced"; readonly found: ActiveToken; readonly successor: string }
  | { readonly is: "reused"; readonly found: ActiveToken }
  | RefusedToken;

/**
 * A token per login, each in a row: a short-lived JWT that names the row, and a refresh token that is replaced whenever it
 * is used.
 *
 * Of two parties who hold the same refresh token, one is a thief. Both use it sooner or later, and the second use is seen,
 * more than a minute after the first: then no one can use that login anymore (RFC 9700 §4.14.2). Within that minute it is
 * more likely that an answer was lost, so the same successor is given again.
 */
export class ManyTokens implements TokenStrategy {
  readonly #jwts: TokenService;
  readonly #settings: ManyTokensSettings;
  readonly #dependencies: ManyTokensDependencies;

  constructor(jwts: TokenService, settings: ManyTokensSettings, dependencies: ManyTokensDependencies) {
    this.#jwts = jwts;
    this.#settings = settings;
    this.#dependencies = dependencies;
  }

  get abilities(): GrantedAbilities {
    return this.#dependencies.abilities;
  }

  async issue(user: Authenticatable, request: TokenRequest): Promise<IssuedToken> {
    const { rows, refreshTokens, abilities, tellEnded } = this.#dependencies;
    const chosen = await abilities.choose(user, request.abilities ?? null);
    // The application is asked before anything is written: if it throws, no token was made and none was ended for it.
    const limited = await abilities.limit(user, chosen);
    const { authentication = null } = request;
    const claim = { userId: String(user.authId()), family: refreshTokens.makeFamily(), authentication };
    const refresh = refreshTokens.first(claim);
    const id = await rows.insert(user, {
      name: request.name ?? deviceName(request.userAgent),
      abilities: chosen === null ? null : scopeOf(chosen),
      family: claim.family,
      token_hash: digest(refresh),
      replaced: null,
      device: deviceOf(request),
      last_used_at: currentDate(),
      expires_at: this.#expiry(),
    });
    if (id === null) throw staleProof();
    tellEnded(claim.userId, await rows.deleteOldest(user.authId(), this.#settings.maxPerUser), request.address);
    return this.#issued(claim, refresh, limited);
  }

  subjectOf(presented: string): string | null {
    const claim = this.#dependencies.refreshTokens.read(presented);
    return isRefused(claim) ? this.#jwts.verifyWithin(presented, Number.POSITIVE_INFINITY).userId : claim.userId;
  }

  async renew(presented: string, request: TokenRequest, admit: AdmitRenewal): Promise<RenewedToken | RefusedToken> {
    const claim = this.#dependencies.refreshTokens.read(presented);
    if (isRefused(claim)) return this.#mistaken(presented) ?? claim;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const found = await this.#judge(presented, claim);
      if (isRefused(found)) return found;
      if (found.is === "reused") return this.#end(found.found, claim, request);
      const { credential: row, user } = found.found;
      await admit(user);
      // Before the rotation: if the application throws here, the client can still use the token that it holds.
      const limited = await this.#dependencies.abilities.limit(user, abilitiesIn(row.abilities));
      if (found.is === "replaced") return this.#renewed(claim, found.successor, limited, true);
      const successor = await this.#rotate(row, claim, presented, request);
      if (successor !== null) return this.#renewed(claim, successor, limited, successor === presented);
    }
    return { failure: "inactive", userId: claim.userId };
  }

  findUser(
    _token: string,
    verified: VerifiedJwt,
    { isReadOnly }: HttpContext,
  ): MaybePromise<Authenticatable | RefusedToken | null> {
    const { userId } = verified;
    if (!this.#jwts.settings.authenticates) return this.#jwts.settings.model.findByAuthId(userId);
    const orRefused = (user: Authenticatable | null) => user ?? { failure: "inactive" as const, userId };
    const user = this.#findActive(verified, isReadOnly);
    return isThenable(user) ? user.then(orRefused) : orRefused(user);
  }

  findActiveUser(_token: string, verified: VerifiedJwt): MaybePromise<Authenticatable | null> {
    return this.#findActive(verified, false);
  }

  #findActive({ id, userId }: VerifiedJwt, isReadOnly: boolean): MaybePromise<Authenticatable | null> {
    // Such as a token from a time when each user had one.
    if (id === null) return null;
    const userOf = (found: FoundToken | null): Authenticatable | null => {
      if (!this.#isActive(found, userId)) return null;
      if (!isReadOnly) this.#noteUse(found.credential);
      return found.user;
    };
    const found = this.#dependencies.rows.find("family", id);
    return isThenable(found) ? found.then(userOf) : userOf(found);
  }

  async revoke(presented: string): Promise<string | null> {
    const { refreshTokens, rows } = this.#dependencies;
    const claim = refreshTokens.read(presented);
    const verified = isRefused(claim) ? this.#jwts.verifyWithin(presented, Number.POSITIVE_INFINITY) : null;
    const token = isRefused(claim) ? claimOf(verified!) : claim;
    if (token === null) return null;
    return (await rows.revoke(rowOf(token))) ? token.userId : null;
  }

  async forget(_user: Authenticatable | null, _token: string | null, verified: VerifiedJwt | null): Promise<void> {
    const claim = verified === null ? null : claimOf(verified);
    if (claim !== null) await this.#dependencies.rows.revoke(rowOf(claim));
  }

  /** A client that presents its access token here gets the same answer as others, but whoever reads the log can tell. */
  #mistaken(presented: string): RefusedToken | null {
    const verified = this.#jwts.verifyWithin(presented, Number.POSITIVE_INFINITY);
    return isRefused(verified) ? null : { failure: "not_a_refresh_token", userId: verified.userId };
  }

  async #judge(presented: string, claim: RefreshClaim): Promise<Presented> {
    const { rows, refreshTokens } = this.#dependencies;
    const { userId } = claim;
    const found = await rows.find("family", claim.family);
    if (!this.#isActive(found, userId)) return { failure: this.#hasExpired(found) ? "expired" : "inactive", userId };
    const row = found.credential;
    const own = digest(presented);
    if (own === row.token_hash) return { is: "current", found };
    const replaced = replacedAt(row, now()).map(({ tokenHash }) => tokenHash);
    if (!replaced.includes(own)) return { is: "reused", found };
    const successor = refreshTokens.last(presented, claim, replaced, row.token_hash);
    return successor === null ? { failure: "inactive", userId } : { is: "replaced", found, successor };
  }

  /** Replaces a row's refresh token, and returns the new one; `null` if another request has changed the row. */
  async #rotate(row: TokenRow, claim: RefreshClaim, presented: string, request: TokenRequest): Promise<string | null> {
    const { rows, refreshTokens } = this.#dependencies;
    const recent = replacedAt(row, now());
    // It stays recognizable for a minute what was replaced: a client in a loop does not push that out of the row.
    if (recent.length >= MAX_REPLACED) return presented;
    const successor = refreshTokens.successor(presented, claim);
    const { id, token_hash, access_epoch } = row;
    // Of concurrent renewals, one finds the row as it was read.
    const isReplaced = await rows.update(
      { id, token_hash, access_epoch },
      {
        token_hash: digest(successor),
        replaced: replacedColumn([...recent, { tokenHash: token_hash, at: now() }]),
        device: deviceOf(request),
        last_used_at: currentDate(),
        expires_at: this.#expiry(),
      },
    );
    return isReplaced ? successor : null;
  }

  async #end({ credential, user }: ActiveToken, claim: RefreshClaim, { address }: TokenRequest): Promise<RefusedToken> {
    const { rows, transaction, tellReuse } = this.#dependencies;
    // The mail is promised by the same transaction that ends the family.
    const isEnded = await transaction(async () => {
      const ended = await rows.revoke(rowOf(claim));
      if (ended) await tellReuse({ user, name: credential.name, address });
      return ended;
    });
    return { failure: isEnded ? "reused" : "inactive", userId: claim.userId };
  }

  #renewed(
    claim: RefreshClaim,
    refresh: string,
    abilities: readonly string[] | null,
    isRepeated: boolean,
  ): RenewedToken {
    return { ...this.#issued(claim, refresh, abilities), userId: claim.userId, isRepeated };
  }

  /** @param abilities limited to those that the user may give; `null`: everything */
  #issued(claim: RefreshClaim, refresh: string, abilities: readonly string[] | null): IssuedToken {
    const { userId, family, authentication } = claim;
    const scope = abilities === null ? {} : { scope: scopeOf(abilities) };
    const said = this.#jwts.settings.authenticationClaims ? authentication : null;
    const token = this.#jwts.issue(userId, { sid: family, ...scope, ...said });
    return { token, refresh, expiresInSeconds: this.#settings.accessMinutes * 60, abilities };
  }

  #expiry(): Date {
    return new Date(now() + this.#settings.refreshDays * DAY_MS);
  }

  #noteUse({ id, last_used_at, created_at }: TokenRow): void {
    if (now() - (last_used_at ?? created_at).getTime() < USE_INTERVAL_MS) return;
    this.#dependencies.uses.note({ guard: this.#jwts.name, id, at: currentDate() });
  }

  /** Reports whether a token that was found is active, and its user the one that it names. */
  #isActive(found: FoundToken | null, userId: string): found is ActiveToken {
    if (found === null || String(found.credential.user_id) !== userId) return false;
    return this.#dependencies.rows.isActive(found);
  }

  /** Reports whether a token that was found ended by itself. */
  #hasExpired(found: FoundToken | null): boolean {
    return found !== null && this.#dependencies.rows.stateOf(found) === "expired";
  }
}

/** What finds the row of a family. */
function rowOf({ family, userId }: RefreshClaim): { readonly family: string; readonly user_id: string } {
  return { family, user_id: userId };
}

/** The row that a verified access token names; `null` if it names none. */
function claimOf(verified: VerifiedJwt | RefusedToken): RefreshClaim | null {
  if (isRefused(verified) || verified.id === null) return null;
  return { userId: verified.userId, family: verified.id };
}

function deviceOf({ userAgent }: TokenRequest): string | null {
  return userAgent?.slice(0, MAX_DEVICE_LENGTH) ?? null;
}
