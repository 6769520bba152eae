import { Auth, type Authenticatable } from "../../auth/index.ts";
import type { RemoteKeys } from "../../security/jwks/index.ts";
import {
  type JwtVerifyOptions,
  tryVerifyJwt,
  unverifiedHeader,
  type VerificationKey,
} from "../../security/jwt/index.ts";
import { AshlarError, isThenable, type MaybePromise } from "../../support/index.ts";
import type { CompleteForeignSettings } from "../settings/foreign-settings.ts";
import type { RefusedToken, TokenClaims, VerifiedToken, Verifier } from "../verifier.ts";

/** Verifies another issuer's access tokens (RFC 9068 §4). */
export class ForeignVerifier implements Verifier {
  readonly #settings: CompleteForeignSettings;
  readonly #keys: RemoteKeys;
  readonly #rules: JwtVerifyOptions;
  readonly #rulesOfExpired: JwtVerifyOptions;

  constructor(settings: CompleteForeignSettings, keys: RemoteKeys) {
    const { issuer, audience, typ, clockSkewSeconds } = settings;
    this.#settings = settings;
    this.#keys = keys;
    this.#rules = Object.freeze({
      issuer,
      audience,
      typ,
      clockSkewSeconds,
      requireSubject: true,
      requireExpiry: true,
    });
    this.#rulesOfExpired = Object.freeze({ ...this.#rules, ignoreExpiry: true });
  }

  /** If users are looked up, the token is refused if no user is found. */
  get authenticates(): boolean {
    return this.#settings.user !== null;
  }

  recognizes(token: string): boolean {
    return token.includes(".");
  }

  /** Returns a promise only if the issuer's keys have to be fetched. */
  verify(token: string): MaybePromise<VerifiedToken | RefusedToken> {
    return this.#verifyWithKeys(token, this.#rules);
  }

  async isSignedElsewhere(token: string): Promise<boolean | "unknown"> {
    const result = await this.#verifyWithKeys(token, this.#rulesOfExpired);
    // A token that isn't valid yet was signed too: the signature is checked before the times.
    if (!("failure" in result) || result.failure === "not_yet_valid") return true;
    return result.failure === "keys_unavailable" ? "unknown" : false;
  }

  /**
   * The user that the application has for the claims.
   *
   * @throws `E_INVALID_MODEL` if the user's class isn't the driver's model
   */
  async findUser(_token: string, { claims }: VerifiedToken): Promise<Authenticatable | RefusedToken | null> {
    const { user: find, model, name } = this.#settings;
    if (find === null) return null;
    const user = await find(claims!);
    if (user === null || user === undefined) return { failure: "inactive", userId: null };
    if (Auth.isUserClassOf(user.constructor, model)) return user as Authenticatable;
    const problem = `DRIVERS.${name}.user returned a ${user.constructor.name}, but the driver's users are of the class ${model.name}.`;
    throw new AshlarError("E_INVALID_MODEL", problem);
  }

  #verifyWithKeys(token: string, rules: JwtVerifyOptions): MaybePromise<VerifiedToken | RefusedToken> {
    const header = unverifiedHeader(token);
    // Don't request keys from the issuer if no key could make the token acceptable.
    if (header === null || !this.#settings.algorithms.includes(header.alg)) {
      return { failure: header === null ? "malformed" : "algorithm", userId: null };
    }
    const { kid } = header;
    const waiting = this.#keys.prepare((keys) => (kid === undefined ? keys.length > 0 : isNamed(keys, kid)));
    const verified = isThenable(waiting) ? waiting.then(() => this.#verify(token, rules)) : this.#verify(token, rules);
    // If the keys have no names, only an invalid signature shows that the issuer may have a new key.
    if (kid !== undefined || isThenable(verified) || !isUnknown(verified)) return verified;
    const again = this.#keys.prepare(() => false);
    return isThenable(again) ? again.then(() => this.#verify(token, rules)) : verified;
  }

  #verify(token: string, rules: JwtVerifyOptions): VerifiedToken | RefusedToken {
    const keys = this.#keys.current;
    if (keys === null) return { failure: "keys_unavailable", userId: null };
    if (keys.length === 0) return { failure: "unknown_key", userId: null };
    const outcome = tryVerifyJwt(token, keys, rules);
    if ("failure" in outcome) return { failure: outcome.failure, userId: null };
    const claims = outcome.claims as TokenClaims;
    // Its `sub` is not a key of the application's users, so only findUser can determine the user.
    return { userId: null, claims, abilities: scopesOf(claims), id: null };
  }
}

function isNamed(keys: readonly VerificationKey[], kid: unknown): boolean {
  return keys.some((key) => key.isNamed(kid));
}

function isUnknown(result: VerifiedToken | RefusedToken): boolean {
  return "failure" in result && result.failure === "signature";
}

/**
 * A token's abilities: the claim `scope` (RFC 9068 §2.2.3, RFC 8693 §4.2), or `scp` with some issuers, as text or as a
 * list. A token without either has no abilities.
 */
function scopesOf({ scope, scp }: TokenClaims): ReadonlySet<string> {
  const written: unknown = scope ?? scp;
  const words = typeof written === "string" ? written.split(" ") : Array.isArray(written) ? written : [];
  return new Set(words.filter((word) => typeof word === "string" && word !== ""));
}
