import type { AuthenticatesInstance, CredentialHolder, UserId } from "../auth/index.ts";
import type { Model, ModelClass } from "../database/index.ts";
import { digestEquals } from "../security/index.ts";
import { AshlarError, type Constructor } from "../support/index.ts";
import type { Issuer } from "./drivers/issuer.ts";
import { requireUsersOf } from "./settings/driver-settings.ts";
import type { TokenHolder } from "./token-holder.ts";
import "../kernel/index.ts";
import "../auth/index.ts";
import "../database/index.ts";

/** The members that {@link AuthenticatesTokens} adds to a model. */
export interface AuthenticatesTokensInstance extends Pick<TokenHolder, "holdsToken" | "activateToken" | "revokeToken"> {
  /**
   * Creates the user's new active API token, replacing the previous one. Only its digest is stored, never the token.
   *
   * Security: it requires neither a proof nor the steps of a login (`steps` of `GUARDS`). To log a user in, use
   * `/api/auth`, or call it only after `auth.login` returned `complete`.
   *
   * @returns the JWT
   * @throws `E_STALE_PROOF` if access to the account has ended since the user was read; `E_ROW_NOT_FOUND` if the user
   * is gone; `E_UNKNOWN_SERVICE` if the application has no API; `E_INVALID_MODEL` if no driver has the class as its `model`
   */
  generateJwt(): Promise<string>;
  /** The digest of the user's active API token when the user was read; `null` if there isn't one. */
  tokenDigest(): string | null;
  /**
   * Removes the user's active API token.
   *
   * @param digest the token's digest, which must still be the active one; default: the active token, whatever its
   * digest
   *
   * Security: with `authenticates` off, requests don't query the database, so the token is accepted until it expires.
   */
  revokeToken(digest?: string): Promise<void>;
}

/** The members that {@link AuthenticatesTokens} adds to a model's class. */
export interface AuthenticatesTokensStatics {
  /**
   * The column with the digest of the active token. JSON never contains it, whether or not it is hidden, and `fill`
   * never sets it.
   */
  tokenColumn: string;
  /**
   * Returns the user with this active token, or `null`.
   *
   * @param token the value that the client sent, of any type
   * @throws `E_UNKNOWN_SERVICE`, `E_INVALID_MODEL` like {@link AuthenticatesTokensInstance.generateJwt}
   */
  attemptByToken<M extends Model>(this: ModelClass<M> & AuthenticatesTokensStatics, token: unknown): Promise<M | null>;
  /** Replaces the stored digest of a user's active token, provided that `replaced` is still the stored one. */
  replaceToken(id: UserId, replaced: string, digest: string): Promise<boolean>;
}

/**
 * Adds API tokens to a user model: one active token per user, in a nullable text column.
 *
 * ```ts
 * class User extends compose(Model, Authenticates, AuthenticatesTokens) {}
 * const token = await user.generateJwt();
 * ```
 */
export function AuthenticatesTokens<B extends ModelClass>(
  base: B,
): B & Constructor<AuthenticatesTokensInstance> & AuthenticatesTokensStatics {
  class HoldingTokens extends base {
    static tokenColumn = "api_token";
    static override get guarded(): readonly string[] {
      return [this.tokenColumn];
    }

    static async attemptByToken<M extends Model>(
      this: ModelClass<M> & AuthenticatesTokensStatics,
      token: unknown,
    ): Promise<M | null> {
      if (typeof token !== "string") return null;
      const issuer = issuerOf(this);
      const verified = issuer.verify(token);
      if ("failure" in verified) return null;
      return issuer.findActiveUser(token, verified.claims) as Promise<M | null>;
    }

    static async replaceToken(id: UserId, replaced: string, digest: string): Promise<boolean> {
      const row = this.where(this.primaryKey, id).where(this.tokenColumn, replaced);
      return (await row.update({ [this.tokenColumn]: digest })) === 1;
    }

    get #class(): AuthenticatesTokensStatics & ModelClass {
      return this.constructor as unknown as AuthenticatesTokensStatics & ModelClass;
    }

    async generateJwt(): Promise<string> {
      return issuerOf(this.#class).issueUnasked(this as unknown as TokenHolder, null);
    }

    tokenDigest(): string | null {
      const digest = (this as unknown as Record<string, unknown>)[this.#class.tokenColumn];
      return typeof digest === "string" ? digest : null;
    }

    holdsToken(digest: string): boolean {
      const active = this.tokenDigest();
      return active !== null && digestEquals(active, digest);
    }

    async activateToken(digest: string): Promise<void> {
      // A single conditional UPDATE, because a token that is issued during a password reset must not remain valid.
      const conditions = (this as Partial<AuthenticatesInstance>).accessConditions?.() ?? {};
      if (await this.writeColumns({ [this.#class.tokenColumn]: digest }, conditions)) return;
      // A token must never be returned if it hasn't been stored.
      throw new AshlarError((await this.#stored()) === null ? "E_ROW_NOT_FOUND" : "E_STALE_PROOF");
    }

    async revokeToken(digest?: string): Promise<void> {
      const { tokenColumn } = this.#class;
      await this.writeColumns({ [tokenColumn]: null }, digest === undefined ? {} : { [tokenColumn]: digest });
    }

    async endCredentials(): Promise<void> {
      await (base.prototype as Partial<CredentialHolder>).endCredentials?.call(this);
      const { tokenColumn } = this.#class;
      // If the column wasn't read, the user may still have a token.
      const known = this.getOriginal(tokenColumn as never);
      const digest = known === undefined ? (await this.#stored())?.getOriginal(tokenColumn as never) : known;
      if (typeof digest === "string") await this.revokeToken();
    }

    accessChanges(): ReturnType<AuthenticatesInstance["accessChanges"]> {
      const inherited = (base.prototype as Partial<AuthenticatesInstance>).accessChanges?.call(this) ?? {};
      const { tokenColumn } = this.#class;
      return this.getOriginal(tokenColumn as never) === undefined ? inherited : { ...inherited, [tokenColumn]: null };
    }

    /** The row's current state; `null` if it is gone. */
    #stored(): Promise<Model | null> {
      const { primaryKey } = this.#class;
      return this.#class.find((this as unknown as Record<string, UserId>)[primaryKey]!);
    }

    override toJSON(): ReturnType<Model["toJSON"]> {
      const json = super.toJSON();
      delete json[this.#class.tokenColumn];
      return json;
    }
  }
  const inherited = (base.prototype as Partial<CredentialHolder>).endCredentials;
  const endsWithRow = inherited === undefined || inherited.endsWithRow === true;
  Object.assign(HoldingTokens.prototype.endCredentials, { endsWithRow });
  return HoldingTokens as unknown as B & Constructor<AuthenticatesTokensInstance> & AuthenticatesTokensStatics;
}

function issuerOf(modelClass: AuthenticatesTokensStatics & ModelClass): Issuer {
  const { services } = modelClass;
  if (services?.has("apiDrivers")) {
    const issuer = services.make("apiDrivers").issuerFor(modelClass);
    // A class that extends the model belongs to its application; a class with its own keys may have other users.
    requireUsersOf(issuer.settings, modelClass);
    return issuer;
  }
  const remedy =
    "List ApiProvider in PROVIDERS, and name the class as the model of a driver in config/api.ts: DRIVERS.";
  throw new AshlarError("E_UNKNOWN_SERVICE", `The model ${modelClass.name} has no API to issue tokens. ${remedy}`);
}
