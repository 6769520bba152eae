import type { Authenticatable, CompleteLogin, Guard, LoginResult } from "../../auth/index.ts";
import type { HttpContext, HttpResponse } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import { digest } from "../../security/index.ts";
import { AshlarError, type Message, ValidationError } from "../../support/index.ts";
import type { LimitName, Throttle } from "../../throttle/index.ts";
import { abilitiesFrom } from "../abilities.ts";
import { type Driver, type Drivers, driversOf, findIssued } from "../drivers/drivers.ts";
import type { Issuer } from "../drivers/issuer.ts";
import { message } from "../messages.ts";
import type { JwtGuard } from "../requests/jwt-guard.ts";
import type { IssuedToken, TokenRequest } from "../stores/store.ts";
import { isTokenName } from "../stores/token-text.ts";
import "../errors.ts";
import "../../auth/index.ts";

const INVALID_TOKEN = 'Bearer error="invalid_token"';

/**
 * Handles the token endpoints, within limits: passwords count under `login`, as everywhere else, and renewals under
 * `api.reauth`.
 */
export class TokenController {
  /** The limit under which each method counts, if the application has limits. */
  static readonly limits: Readonly<Record<"issue" | "renew" | "revoke", LimitName>> = {
    issue: "login",
    renew: "api.reauth",
    revoke: "api.reauth",
  };

  /** The driver of the tokens that the endpoints issue; `null` for the first one that issues any. */
  static readonly driver: string | null = null;

  readonly #issuer: Issuer;
  readonly #driver: Driver;
  readonly #drivers: Drivers;
  readonly #throttle: Throttle | null;

  constructor(container: Container) {
    this.#drivers = driversOf(container);
    this.#issuer = this.#drivers.issuer((this.constructor as typeof TokenController).driver);
    this.#driver = this.#drivers.of(this.#issuer.name);
    this.#throttle = container.has("throttle") ? container.make("throttle") : null;
  }

  /**
   * Responds to `POST /api/auth` with `{"data": "<token>"}`, a new API token, for the inputs `username`, which is the
   * user's email address, and `password`. The optional input `abilities` restricts it.
   *
   * If users have several tokens, the response also has `refresh`, the refresh token, `expires_in`, in seconds, and
   * `abilities`; and `name` is the token's name.
   *
   * A step's inputs can be sent along with these two. They can also follow in a second request, within ten minutes, which
   * has `Authorization: Bearer <pending>` instead of the two, with the text `pending` of the error `E_LOGIN_PENDING`. It
   * completes one login.
   *
   * @throws `E_LOGIN_PENDING` with the name of the required `step`, the ways to pass it in `flows`, and `pending`;
   * `E_LOGIN_REFUSED` with the step's message; `E_INVALID_CREDENTIALS`; `E_INVALID_TOKEN` if no login is waiting with
   * this text; `E_INVALID_INPUT` if one of the two is missing or not text; `E_TOO_MANY_REQUESTS`
   */
  async issue(context: HttpContext): Promise<HttpResponse> {
    const wanted = { name: nameIn(context), abilities: abilitiesFrom(context.request.bodyInput("abilities")) };
    const pending = pendingIn(context);
    if (pending !== null) return this.#continue(context, pending, wanted);
    const { username, password } = texts(context, ["username", "password"]);
    await this.#throttle?.hit(context, TokenController.limits.issue, { account: username, guard: this.#issuer.name });
    return respondToLogin(context, await this.#guardOf(context).login(username, password), this.#issuer, wanted);
  }

  /**
   * Responds to `POST /api/reauth` with `{"data": "<token>"}`, a new API token, for the input `token`: an old one, which
   * may have expired; if users have several tokens, the refresh token, and the response is that of {@link issue}. The steps
   * of a login apply here too.
   *
   * @throws `E_LOGIN_PENDING`, `E_LOGIN_REFUSED` like {@link issue}, leaving the token active; `E_INVALID_TOKEN`;
   * `E_INVALID_INPUT` if it is missing or not text; `E_TOO_MANY_REQUESTS`
   */
  async renew(context: HttpContext): Promise<HttpResponse> {
    const { token } = texts(context, ["token"]);
    await this.#count(context, token, this.#issuer.store.ownerOf(token), TokenController.limits.renew);
    const guard = this.#guardOf(context);
    const admit = async (user: Authenticatable) => requireComplete(await guard.admitRenewal(user), null);
    const renewed = await this.#issuer.renew(token, clientOf(context), admit);
    if (renewed === null) throw refusal("E_INVALID_TOKEN", INVALID_TOKEN);
    return tokenResponse(context, renewed);
  }

  /**
   * Responds to `POST /api/logout` with 204: revokes the token in the header `Authorization`, which may have expired,
   * or in the input `token`, which may also be a refresh token, or a personal one. It responds in the same way to
   * inactive and made-up tokens (RFC 7009 §2.2), but not to another driver's.
   *
   * @throws `E_UNAUTHENTICATED` without a token; `E_CONFLICTING_TOKENS`; `E_INVALID_TOKEN` if another driver issued the
   * token, or accepts it from its issuer; `E_ISSUER_UNAVAILABLE` if that can't be determined at the moment;
   * `E_TOO_MANY_REQUESTS`
   */
  async revoke(context: HttpContext): Promise<HttpResponse> {
    const presented = context.apiTokens.of(this.#driver);
    const { value } = presented;
    if (value === null) throw presented.refusal();
    const found = await findIssued(this.#driver, value);
    await this.#count(context, value, found?.owner ?? null, TokenController.limits.revoke);
    const { clientAddress } = context.request;
    if (found === null) await this.#refuseOtherDrivers(value, clientAddress);
    else await found.revoke(clientAddress);
    return context.response.header("Cache-Control", "no-store").noContent();
  }

  /** The step limits the attempts at its proof. Texts without a login are counted by address. */
  async #continue(context: HttpContext, pending: string, wanted: WantedToken): Promise<HttpResponse> {
    const { issue: limit } = TokenController.limits;
    await this.#throttle?.hit(context, limit, { account: null, guard: this.#issuer.name });
    const login = await this.#guardOf(context).pendingLogin(pending);
    if (login === null) throw refusal("E_INVALID_TOKEN", INVALID_TOKEN);
    await this.#throttle?.giveBack(context, limit);
    return respondToLogin(context, await login.resume(), this.#issuer, wanted);
  }

  /** A token that stays active must not appear to be revoked. */
  async #refuseOtherDrivers(token: string, address: string | null): Promise<void> {
    const driver = await this.#drivers.driverOf(token);
    if (driver === null) return;
    this.#driver.events.refused({ failure: "audience", userId: null }, address);
    const rule = driver.issuer === null ? "api.foreignDriver" : "api.otherDriver";
    throw refusal("E_INVALID_TOKEN", INVALID_TOKEN, message(rule, { driver: driver.name }));
  }

  /** Attempts with a token that was issued here are counted by token; only made-up tokens are counted by address. */
  async #count(context: HttpContext, token: string, id: string | null, limit: LimitName): Promise<void> {
    const counted = id === null ? { account: null } : { user: { authId: () => id }, proof: digest(token) };
    await this.#throttle?.hit(context, limit, { ...counted, guard: this.#issuer.name });
  }

  #guardOf(context: HttpContext): JwtGuard {
    return context.auth.guard(this.#issuer.name) as Guard as JwtGuard;
  }
}

/** @throws `E_INVALID_INPUT` if it is not a valid name */
function nameIn({ request }: HttpContext): string | null {
  const name = request.bodyInput("name");
  if (name === null || name === "") return null;
  if (typeof name === "string" && isTokenName(name)) return name.trim();
  throw new ValidationError({ name: [message("api.input.name")] });
}

/** Inputs that must be in the body, as text; inputs in the query are ignored, because URLs get logged elsewhere. */
function texts<Name extends string>(context: HttpContext, names: readonly Name[]): Record<Name, string> {
  const found: Record<string, unknown> = {};
  const errors: Record<string, Message[]> = {};
  for (const name of names) {
    const value = context.request.bodyInput(name);
    found[name] = value;
    if (value === null || value === "") errors[name] = [message("api.input.required", { name })];
    else if (typeof value !== "string") errors[name] = [message("api.input.text", { name })];
  }
  if (Object.keys(errors).length > 0) throw new ValidationError(errors);
  return found as Record<Name, string>;
}

/** The text for a waiting login in the header; `null` for a request with an identifier or a password. */
function pendingIn({ request }: HttpContext): string | null {
  const isNew = ["username", "password"].some((name) => request.bodyInput(name) !== null);
  return isNew ? null : request.bearerToken();
}

/** The properties of the new token. */
type WantedToken = Pick<TokenRequest, "name" | "abilities">;

/**
 * Responds to a login with a token, like the token endpoint, regardless of the proof.
 *
 * @throws `E_LOGIN_PENDING` with the name of the required `step`, the ways to pass it in `flows`, and the text
 * `pending` with which the token endpoint continues the login; `E_LOGIN_REFUSED` with the step's message;
 * `E_INVALID_CREDENTIALS` if the proof failed, or access to the account has ended since; `E_INVALID_INPUT` if the user
 * may not give one of the abilities
 */
export async function respondToLogin(
  context: HttpContext,
  login: LoginResult,
  issuer: Issuer,
  wanted: WantedToken,
): Promise<HttpResponse> {
  const complete = requireComplete(login, context.apiTokens.drivers.loginUrl(issuer));
  try {
    return tokenResponse(context, await issuer.issueTo(complete, { ...clientOf(context), ...wanted }));
  } catch (error) {
    // The proof was valid when it was verified, but access has ended since, for example because of a new password.
    if (error instanceof AshlarError && (error.code === "E_STALE_PROOF" || error.code === "E_ROW_NOT_FOUND")) {
      throw refusal("E_INVALID_CREDENTIALS", "Bearer");
    }
    throw error;
  }
}

/** A response with a token must never be cached (RFC 6749 §5.1). */
function tokenResponse({ response }: HttpContext, issued: IssuedToken): HttpResponse {
  const { token: data, refresh, expiresInSeconds, abilities } = issued;
  const more =
    refresh === null
      ? { ...(abilities !== null && { abilities }) }
      : { refresh, expires_in: expiresInSeconds, abilities };
  return response.header("Cache-Control", "no-store").json({ data, ...more });
}

/** The client that requests a token. */
function clientOf({ request }: HttpContext): TokenRequest {
  return { address: request.clientAddress, userAgent: request.userAgent() };
}

/**
 * @param url where to send a step's inputs, regardless of the step's page; `null` if there is no such endpoint
 * @throws an error with the reason why the login isn't complete; for a failed proof, without details
 */
function requireComplete(login: LoginResult, url: string | null): CompleteLogin {
  if (login.status === "complete") return login;
  const { step, message } = login;
  if (login.status === "pending") {
    const { flows: all, pending } = login;
    const flows = all.map((flow) => (url === null ? flow : { ...flow, url }));
    const extensions = { step, flows, ...(pending !== undefined && { pending }) };
    throw new AshlarError("E_LOGIN_PENDING", message ?? undefined, { extensions });
  }
  if (step === null) throw refusal("E_INVALID_CREDENTIALS", "Bearer");
  throw new AshlarError("E_LOGIN_REFUSED", login.message, { extensions: { step } });
}

/** An error of a token endpoint, with its challenge (RFC 6750 §3). */
function refusal(
  code: "E_INVALID_CREDENTIALS" | "E_INVALID_TOKEN",
  challenge: string,
  sentence?: Message,
): AshlarError {
  return new AshlarError(code, sentence, { headers: { "WWW-Authenticate": challenge } });
}
