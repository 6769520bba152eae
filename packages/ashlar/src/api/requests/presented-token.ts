import type { Authenticatable } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { AshlarError, isThenable, type MaybePromise } from "../../support/index.ts";
import type { Driver, Drivers } from "../drivers/drivers.ts";
import type { RefusedToken, TokenClaims, VerifiedToken, Verifier } from "../verifier.ts";
import "../errors.ts";
import "../../http/index.ts";

declare module "../../http/exchange/context.ts" {
  interface FrameworkContext {
    /** The request's API token, as verified by the active driver: the middleware's, or else the first one. */
    readonly apiToken: PresentedToken;
    /** @internal The request's API token, as verified by each driver. */
    readonly apiTokens: RequestTokens;
  }
}

const INPUT = "token";

/** A request's API token, as verified by each driver. */
export class RequestTokens {
  readonly drivers: Drivers;
  readonly #context: HttpContext;
  readonly #tokens = new Map<Driver, PresentedToken>();
  #active: PresentedToken | null = null;

  constructor(context: HttpContext, drivers: Drivers) {
    this.#context = context;
    this.drivers = drivers;
  }

  /** The token, as verified by the active driver: the driver used last, or else the first one. */
  get active(): PresentedToken {
    return this.#active ?? this.of(this.drivers.all[0]!);
  }

  /** The token, as verified by a driver. */
  of(driver: Driver): PresentedToken {
    let token = this.#tokens.get(driver);
    if (token === undefined) {
      token = new PresentedToken(this.#context, driver);
      this.#tokens.set(driver, token);
    }
    return token;
  }

  /** The token, as verified by a driver, which becomes the active driver for the rest of the request. */
  use(driver: Driver): PresentedToken {
    this.#active = this.of(driver);
    return this.#active;
  }
}

/** Creates a context's `apiTokens`, with the application's drivers. */
export function requestTokens(context: HttpContext, { container }: Pick<Application, "container">): RequestTokens {
  return new RequestTokens(context, container.make("apiDrivers"));
}

/**
 * A request's API token, as verified by one driver. The token is read, verified and matched to its user at most once.
 */
export class PresentedToken {
  readonly #context: HttpContext;
  readonly #driver: Driver;
  #value: string | null | undefined;
  #verifier: Verifier | null = null;
  #verified: VerifiedToken | null | undefined;
  #verifying: Promise<void> | null = null;
  #isUnverifiable = false;

  constructor(context: HttpContext, driver: Driver) {
    this.#context = context;
    this.#driver = driver;
  }

  /**
   * The same request's token, as verified by another driver.
   *
   * @param driver the other driver's name
   * @throws `E_UNKNOWN_GUARD` if no driver has this name
   */
  of(driver: string): PresentedToken {
    const { apiTokens } = this.#context;
    return apiTokens.of(apiTokens.drivers.of(driver));
  }

  /**
   * Waits for the body if the token can't be anywhere else, and for the verification if that has to fetch anything,
   * such as the keys of another issuer. Call it first in code that runs before the body is read.
   */
  ready(): MaybePromise<void> {
    const { request } = this.#context;
    const loading = request.awaitsBody && request.bearerToken() === null ? request.loadBody() : undefined;
    return isThenable(loading) ? loading.then(() => this.#verify()) : this.#verify();
  }

  /**
   * The token as sent, in the `Authorization` header (RFC 6750 §2.1) or as the input `token`; `null` if there isn't
   * one.
   *
   * @throws `E_CONFLICTING_TOKENS` if the header and the input contain different tokens
   */
  get value(): string | null {
    if (this.#value === undefined) this.#value = this.#find();
    return this.#value;
  }

  /**
   * @internal What the token proves; `null` if there is no token, or if it is not valid. If the verification has to
   * wait for anything, the token counts as not valid until {@link ready}.
   *
   * @throws `E_CONFLICTING_TOKENS`
   */
  get verified(): VerifiedToken | null {
    if (this.#verified === undefined) void this.#verify();
    return this.#verified ?? null;
  }

  /**
   * The token's claims, verified without querying the database; `null` if there is no token, if it is not valid, and for a
   * token without claims.
   *
   * @throws `E_CONFLICTING_TOKENS`
   */
  get claims(): TokenClaims | null {
    return this.verified?.claims ?? null;
  }

  /**
   * Identifies the token's row; `null` if it has none, or is not valid. With `many()`, it is the claim `sid`, which all
   * access tokens of a login share; for a personal token, it is the row's key.
   *
   * @throws `E_CONFLICTING_TOKENS`
   */
  get id(): string | null {
    return this.verified?.id ?? null;
  }

  /**
   * The token's abilities; `null` for all. Empty if there is no valid token. To check a single ability, call
   * `auth.tokenCan`.
   *
   * @throws `E_CONFLICTING_TOKENS`
   */
  get abilities(): ReadonlySet<string> | null {
    return this.verified === null ? new Set() : this.verified.abilities;
  }

  /** Whether the token is only accepted once {@link user} has found its user. */
  get authenticates(): boolean {
    return this.#verifier?.authenticates ?? false;
  }

  /** The value of `WWW-Authenticate` if the token is not accepted (RFC 6750 §3). */
  get challenge(): string {
    return this.value === null ? "Bearer" : 'Bearer error="invalid_token"';
  }

  /**
   * The user whom the token identifies, or `null`. With `authenticates`, it must be one of the user's active tokens.
   *
   * @throws `E_CONFLICTING_TOKENS`
   */
  async user(): Promise<Authenticatable | null> {
    const waiting = this.ready();
    if (isThenable(waiting)) await waiting;
    const { verified } = this;
    if (verified === null) return null;
    const found = await this.#verifier!.findUser(this.value!, verified, this.#context);
    if (found === null) return null;
    if ("failure" in found) return this.#refuse(found);
    if (found.isBlocked?.() === true) return this.#refuse({ failure: "inactive", userId: String(found.authId()) });
    // The user may have lost abilities since the token was issued.
    const limited = this.#verifier!.abilitiesNow?.(found, verified);
    const abilities = isThenable(limited) ? await limited : limited;
    if (abilities !== undefined && abilities !== verified.abilities) this.#verified = { ...verified, abilities };
    return found;
  }

  /**
   * The error for the refused request. It doesn't reveal the reason. If the issuer's keys are unavailable, it tells the
   * client to retry, because the token may be valid.
   */
  refusal(): AshlarError {
    if (this.#isUnverifiable) return new AshlarError("E_ISSUER_UNAVAILABLE");
    const code = this.value === null ? "E_UNAUTHENTICATED" : "E_INVALID_TOKEN";
    return new AshlarError(code, undefined, { headers: { "WWW-Authenticate": this.challenge } });
  }

  #find(): string | null {
    const { request } = this.#context;
    const header = request.bearerToken();
    if (header === null) return this.#input();
    request.whenBodyIsRead(() => this.#refuseOtherThan(header));
    if (request.awaitsBody && this.#mayBeInQuery) this.#refuseOtherThan(header);
    return header;
  }

  #refuseOtherThan(header: string): void {
    const input = this.#input();
    // A server that checks one of the two and uses the other can be tricked into acting on behalf of another user.
    if (input !== null && input !== header) throw new AshlarError("E_CONFLICTING_TOKENS");
  }

  get #mayBeInQuery(): boolean {
    return this.#driver.settings.tokenInQuery && this.#context.request.raw.url.includes("?");
  }

  /** The input `token`, if it is text and not empty. The query is only parsed if the token can be in it. */
  #input(): string | null {
    const { request } = this.#context;
    const isInQuery = this.#mayBeInQuery;
    if (request.route()?.streamsBody === true && !isInQuery) return null;
    const value = isInQuery ? request.input(INPUT) : request.bodyInput(INPUT);
    return typeof value === "string" && value !== "" ? value : null;
  }

  #verify(): MaybePromise<void> {
    if (this.#verified !== undefined) return;
    if (this.#verifying !== null) return this.#verifying;
    const { value } = this;
    const verifier = value === null ? undefined : this.#driver.verifiers.find((one) => one.recognizes(value));
    if (value === null || verifier === undefined) {
      this.#verified = null;
      return;
    }
    this.#verifier = verifier;
    if (verifier.isHeaderOnly === true && this.#context.request.bearerToken() === null) {
      return this.#conclude({ failure: "not_in_header", userId: null });
    }
    const result = verifier.verify(value);
    if (!isThenable(result)) return this.#conclude(result);
    this.#verifying = result.then((one) => this.#conclude(one));
    return this.#verifying;
  }

  #conclude(result: VerifiedToken | RefusedToken): void {
    if ("failure" in result) {
      this.#verified = null;
      this.#refuse(result);
      return;
    }
    this.#verified = result;
    // This applies even if the user isn't looked up, because a handler may respond with the claims' contents.
    this.#context.response.dependsOnVisitor(true);
  }

  #refuse(refused: RefusedToken): null {
    this.#isUnverifiable = refused.failure === "keys_unavailable";
    this.#driver.events.refused(refused, this.#context.request.clientAddress);
    return null;
  }
}
