import {
  Auth,
  type Authenticatable,
  type Credential,
  type CredentialTable,
  type FoundCredential,
  SharedCredentials,
} from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { digest } from "../../security/index.ts";
import { AshlarError, currentDate, isThenable, type MaybePromise, now, REPEAT_SECONDS } from "../../support/index.ts";
import { type GrantedAbilities, joined, split } from "../abilities.ts";
import type { TokenEvents } from "../events.ts";
import type { CompleteJwtSettings } from "../settings/driver-settings.ts";
import type { ManyTokensSettings } from "../settings/token-settings.ts";
import type { TokenMails } from "../token-mails.ts";
import type { RefusedToken, VerifiedJwt } from "../verifier.ts";
import { JwtVerifier, scopeOf } from "../verifiers/jwt-verifier.ts";
import { type RefreshClaim, RefreshTokens } from "./refresh-tokens.ts";
import type { AdmitRenewal, IssuedToken, RenewedToken, Store, TokenRequest } from "./store.ts";

/** The table of tokens: one row for each login at the token endpoint, with its current refresh token. */
export const TOKEN_TABLE = "api_tokens";

const DAY_MS = 86_400_000;
const MAX_DEVICE_LENGTH = 255;
/** Of several concurrent renewals, one wins. The others find the successor when they retry. */
const MAX_ROUNDS = 4;
/**
 * How many replaced tokens are stored in a row. If it is renewed more often within a minute, it keeps its refresh
 * token.
 */
const MAX_REPLACED = 8;

/** A token's columns that other credentials don't have. */
interface Columns {
  readonly name: string;
  /** The abilities with which it was issued, separated by spaces; `null` for all that its user may give. */
  readonly abilities: string | null;
  readonly family: string;
  readonly token_hash: string;
  /** The digests of recently replaced refresh tokens, each with the time: `digest@1900000000000`. */
  readonly replaced: string | null;
}

interface Hidden {
  readonly device: string | null;
}

type ActiveToken = FoundCredential<Columns, Authenticatable>;
type Found = FoundCredential<Columns> | null;

/** A refresh token's state, according to its family's row. */
type Presented =
  | { readonly is: "current" | "reused"; readonly found: ActiveToken }
  | { readonly is: "replaced"; readonly found: ActiveToken; readonly successor: string }
  | RefusedToken;

/** The dependencies of {@link ManyStore}. */
interface ManyDependencies {
  readonly abilities: GrantedAbilities;
  readonly events: TokenEvents;
  readonly mails: TokenMails;
  readonly table: SharedCredentials<Columns, Hidden>;
  /** The application's key, followed by former ones. */
  readonly keys: readonly string[];
}

/** Creates the table shared by an application's drivers with `many()`. */
export function createManyTable(application: Application): SharedCredentials<Columns, Hidden> {
  return new SharedCredentials<Columns, Hidden>(application, {
    table: TOKEN_TABLE,
    columns: { name: "text", abilities: "text", family: "text", token_hash: "text", replaced: "text" },
    hidden: ["device"],
    exported: ["id", "guard", "name", "abilities", "device", "last_used_at", "expires_at", "revoked_at", "created_at"],
    personal: ["device"],
    words: ["an API token", "API tokens"],
    useIntervalMs: 5 * 60_000,
  });
}

/**
 * One token per login, each with a row. It consists of a short-lived JWT that names the row, and a refresh token that
 * is replaced whenever it is used.
 *
 * If two parties have the same refresh token, one of them has stolen it, and sooner or later both use it. A second use
 * more than a minute after the first ends the login for both (RFC 9700 §4.14.2). Within that minute, a lost response is
 * more likely, so the client gets the same successor again.
 */
export class ManyStore extends JwtVerifier implements Store {
  readonly #options: ManyTokensSettings;
  readonly #events: TokenEvents;
  readonly #mails: TokenMails;
  readonly #table: SharedCredentials<Columns, Hidden>;
  readonly #tokens: CredentialTable<Columns, Hidden>;
  readonly #refreshTokens: RefreshTokens;

  constructor(settings: CompleteJwtSettings, { abilities, events, mails, table, keys }: ManyDependencies) {
    super(settings, abilities);
    this.#options = settings.tokens as ManyTokensSettings;
    this.#events = events;
    this.#mails = mails;
    this.#table = table;
    this.#tokens = table.of(settings.name, settings.model);
    this.#refreshTokens = new RefreshTokens(settings.name, settings.version, keys);
  }

  async issue(user: Authenticatable, request: TokenRequest): Promise<IssuedToken> {
    const chosen = await this.abilities.choose(user, request.abilities ?? null);
    // This comes before anything is written. If the application throws, no token has been created or ended.
    const limited = await this.abilities.limit(user, chosen);
    const { authentication = null } = request;
    const claim = { userId: String(user.authId()), family: this.#refreshTokens.makeFamily(), authentication };
    const refresh = this.#refreshTokens.first(claim);
    const id = await this.#tokens.insert(user, {
      name: request.name ?? Auth.deviceName(request.userAgent),
      abilities: joined(chosen),
      family: claim.family,
      token_hash: digest(refresh),
      replaced: null,
      ...this.#usedBy(request),
    });
    if (id === null) throw new AshlarError("E_STALE_PROOF");
    await this.#endOldest(user, request);
    return this.#issued(claim, refresh, limited);
  }

  ownerOf(token: string): string | null {
    const claim = this.#refreshTokens.read(token);
    return "failure" in claim ? this.verifyExpired(token).userId : claim.userId;
  }

  async renew(token: string, request: TokenRequest, admit: AdmitRenewal): Promise<RenewedToken | RefusedToken> {
    const claim = this.#refreshTokens.read(token);
    if ("failure" in claim) return this.#mistaken(token) ?? claim;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const presented = await this.#judge(token, claim);
      if ("failure" in presented) return presented;
      if (presented.is === "reused") return this.#end(presented.found, claim, request);
      const { credential, user } = presented.found;
      await admit(user);
      // This comes before the rotation. If the application throws here, the client can still use its token.
      const limited = await this.abilities.limit(user, split(credential.abilities));
      const isReplaced = presented.is === "replaced";
      const successor = isReplaced ? presented.successor : await this.#rotate(credential, claim, token, request);
      if (successor === null) continue;
      const isRepeated = isReplaced || successor === token;
      return { ...this.#issued(claim, successor, limited), userId: claim.userId, isRepeated };
    }
    return { failure: "inactive", userId: claim.userId };
  }

  findUser(
    _token: string,
    verified: VerifiedJwt,
    { isReadOnly }: HttpContext,
  ): MaybePromise<Authenticatable | RefusedToken | null> {
    const { userId } = verified;
    if (!this.authenticates) return this.settings.model.findByAuthId(userId);
    const orRefused = (user: Authenticatable | null) => user ?? { failure: "inactive" as const, userId };
    const user = this.findActiveUser(_token, verified, isReadOnly);
    return isThenable(user) ? user.then(orRefused) : orRefused(user);
  }

  findActiveUser(
    _token: string,
    { id, userId }: VerifiedJwt,
    isReadOnly = false,
  ): MaybePromise<Authenticatable | null> {
    // This may be a token that was issued when each user had only one.
    if (id === null) return null;
    const userOf = (found: Found): Authenticatable | null => {
      if (!this.#isActive(found, userId)) return null;
      if (!isReadOnly) this.#table.noteUse(this.settings.name, found.credential);
      return found.user;
    };
    const found = this.#tokens.find("family", id);
    return isThenable(found) ? found.then(userOf) : userOf(found);
  }

  async revoke(token: string): Promise<string | null> {
    const claim = this.#refreshTokens.read(token);
    const named = "failure" in claim ? claimOf(this.verifyExpired(token)) : claim;
    return named !== null && (await this.#revoke(named)) ? named.userId : null;
  }

  async forget(_user: Authenticatable | null, _token: string | null, verified: VerifiedJwt | null): Promise<void> {
    const claim = verified === null ? null : claimOf(verified);
    if (claim !== null) await this.#revoke(claim);
  }

  #revoke({ family, userId }: RefreshClaim): Promise<boolean> {
    return this.#tokens.revoke({ family, user_id: userId });
  }

  /** The limit includes rows that have ended, so that a client can't fill the table by repeatedly logging in. */
  async #endOldest(user: Authenticatable, { address }: TokenRequest): Promise<void> {
    const { maxPerUser } = this.#options;
    const id = user.authId();
    await this.#tokens.deleteOldestOf(id, maxPerUser, (is) => is("expires_at", "<=", currentDate()));
    const ended = await this.#tokens.deleteOldest(id, maxPerUser);
    for (let count = 0; count < ended; count++) this.#events.emit("api.token_revoked", address, { userId: String(id) });
  }

  /**
   * A client that presents its access token instead gets the same response as for any other refused token, but the
   * reason is logged.
   */
  #mistaken(token: string): RefusedToken | null {
    const verified = this.verifyExpired(token);
    return "failure" in verified ? null : { failure: "not_a_refresh_token", userId: verified.userId };
  }

  async #judge(token: string, claim: RefreshClaim): Promise<Presented> {
    const { userId, family } = claim;
    const found = await this.#tokens.find("family", family);
    if (!this.#isActive(found, userId)) {
      const isExpired = found !== null && this.#tokens.stateOf(found) === "expired";
      return { failure: isExpired ? "expired" : "inactive", userId };
    }
    const { credential } = found;
    const own = digest(token);
    if (own === credential.token_hash) return { is: "current", found };
    const replaced = replacedIn(credential).map(([tokenHash]) => tokenHash);
    if (!replaced.includes(own)) return { is: "reused", found };
    const successor = this.#refreshTokens.last(token, claim, replaced, credential.token_hash);
    return successor === null ? { failure: "inactive", userId } : { is: "replaced", found, successor };
  }

  /** Replaces a row's refresh token, and returns the new one; `null` if another request has changed the row. */
  async #rotate(
    row: Credential<Columns>,
    claim: RefreshClaim,
    token: string,
    request: TokenRequest,
  ): Promise<string | null> {
    const recent = replacedIn(row);
    // Replaced tokens stay recognizable for a minute: a client that renews in a loop must not push them out of the row.
    if (recent.length >= MAX_REPLACED) return token;
    const successor = this.#refreshTokens.successor(token, claim);
    const { id, token_hash, access_epoch } = row;
    const replaced = [...recent, [token_hash, now()]].map((one) => one.join("@")).join(" ");
    const changes = { token_hash: digest(successor), replaced, ...this.#usedBy(request) };
    // Of several concurrent renewals, only one finds the row unchanged.
    return (await this.#tokens.update({ id, token_hash, access_epoch }, changes)) ? successor : null;
  }

  async #end({ credential, user }: ActiveToken, claim: RefreshClaim, { address }: TokenRequest): Promise<RefusedToken> {
    const { name } = credential;
    const { userId } = claim;
    // The mail is queued in the same transaction that ends the family.
    const isEnded = await this.#table.transaction(async () => {
      if (!(await this.#revoke(claim))) return false;
      this.#events.emit("api.token_reused", address, { userId: String(user.authId()), name });
      await this.#mails.queue("tokenReused", user, { name, detectedAt: currentDate() });
      return true;
    });
    return { failure: isEnded ? "reused" : "inactive", userId };
  }

  /** @param abilities limited to those that the user may give; `null` for all */
  #issued(claim: RefreshClaim, refresh: string, abilities: readonly string[] | null): IssuedToken {
    const { userId, family, authentication } = claim;
    const said = this.settings.authenticationClaims ? authentication : null;
    const token = this.sign(userId, { sid: family, ...scopeOf(abilities), ...said });
    return { token, refresh, expiresInSeconds: this.#options.accessMinutes * 60, abilities };
  }

  /** The columns that a login and each renewal write. */
  #usedBy({ userAgent }: TokenRequest) {
    return {
      device: userAgent?.slice(0, MAX_DEVICE_LENGTH) ?? null,
      last_used_at: currentDate(),
      expires_at: new Date(now() + this.#options.refreshDays * DAY_MS),
    };
  }

  /** Reports whether a row is active, and belongs to the user that the token names. */
  #isActive(found: Found, userId: string): found is ActiveToken {
    return found !== null && String(found.credential.user_id) === userId && this.#tokens.isActive(found);
  }
}

/** The row that a verified access token names; `null` if it names none. */
function claimOf(verified: VerifiedJwt | RefusedToken): RefreshClaim | null {
  if ("failure" in verified || verified.id === null) return null;
  return { userId: verified.userId, family: verified.id };
}

/** The refresh tokens of a row that were replaced within the last minute, in order of replacement. */
function replacedIn({ replaced }: Credential<Columns>): readonly (readonly [tokenHash: string, at: number])[] {
  const entries = (replaced ?? "").split(" ").filter((entry) => entry !== "");
  return entries
    .map((entry) => {
      const [tokenHash, at] = entry.split("@") as [string, string];
      return [tokenHash, Number(at)] as const;
    })
    .filter(([, at]) => now() - at <= REPEAT_SECONDS * 1000);
}
