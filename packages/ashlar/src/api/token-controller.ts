import { type CompleteLogin, LoginPendingError, type LoginResult, PASSWORD_LIMIT } from "../auth/index.ts";
import type { HttpContext, HttpResponse } from "../http/index.ts";
import type { Container } from "../kernel/index.ts";
import { digest } from "../security/index.ts";
import { AshlarError, type Message, ValidationError } from "../support/index.ts";
import type { Throttle } from "../throttle/index.ts";
import { requireTokenService } from "./require-token-service.ts";
import type { TokenBearer } from "./token-model.ts";
import { JWT_GUARD, type TokenService } from "./token-service.ts";
import "./errors.ts";
import { message } from "./messages.ts";

/**
 * Handles the token endpoints, within limits: passwords count under `login`, as everywhere else, and renewals under
 * `api.reauth`.
 */
export class TokenController {
  readonly #service: TokenService;
  readonly #throttle: Throttle | null;

  constructor(container: Container) {
    this.#service = requireTokenService(container);
    this.#throttle = container.has("throttle") ? container.make("throttle") : null;
  }

  /**
   * Responds to `POST /api/auth` with `{"data": "<token>"}`, a new API token, for the inputs `username`, which is the
   * user's email address, and `password`.
   *
   * @throws `E_LOGIN_PENDING` with the name of the required `step`, whose inputs are sent along with these two;
   * `E_LOGIN_REFUSED` with the step's message; `E_INVALID_CREDENTIALS`; `E_INVALID_INPUT` if one of the two is missing
   * or not text; `E_TOO_MANY_REQUESTS`
   */
  async issue(context: HttpContext): Promise<HttpResponse> {
    const { username, password } = texts(context, ["username", "password"]);
    await this.#throttle?.hit(context, PASSWORD_LIMIT, { account: username, guard: JWT_GUARD });
    const login = complete(await context.auth.guard(JWT_GUARD).login(username, password));
    return tokenResponse(context, await this.#issueTo(context, login));
  }

  async #issueTo(context: HttpContext, login: CompleteLogin): Promise<string> {
    try {
      return await this.#service.issueTo(login, context.request.clientAddress);
    } catch (error) {
      // The password was correct when it was checked; a reset has changed it since.
      if (error instanceof AshlarError && (error.code === "E_STALE_PROOF" || error.code === "E_ROW_NOT_FOUND")) {
        throw refusal("E_INVALID_CREDENTIALS", "Bearer");
      }
      throw error;
    }
  }

  /**
   * Responds to `POST /api/reauth` with `{"data": "<token>"}`, a new API token, for the input `token`: an old one, which
   * may have expired. The steps of a login apply here too.
   *
   * @throws `E_LOGIN_PENDING`, `E_LOGIN_REFUSED` as {@link issue}, leaving the token active; `E_INVALID_TOKEN`;
   * `E_INVALID_INPUT` if it is missing or not text; `E_TOO_MANY_REQUESTS`
   */
  async renew(context: HttpContext): Promise<HttpResponse> {
    const { token } = texts(context, ["token"]);
    // A token that was issued here is counted on its own. Only made-up tokens are counted by address.
    const id = this.#service.subjectOf(token);
    const counted = id === null ? { account: null } : { user: { authId: () => id }, proof: digest(token) };
    await this.#throttle?.hit(context, "api.reauth", { ...counted, guard: JWT_GUARD });
    const guard = context.auth.guard(JWT_GUARD);
    const admit = async (user: TokenBearer) => complete(await guard.admitRenewal(user));
    const renewed = await this.#service.renew(token, context.request.clientAddress, admit);
    if (renewed === null) throw refusal("E_INVALID_TOKEN", 'Bearer error="invalid_token"');
    return tokenResponse(context, renewed);
  }
}

/** RFC 6749 §5.1: a response with a token must never be cached. */
function tokenResponse({ response }: HttpContext, token: string): HttpResponse {
  return response.header("Cache-Control", "no-store").json({ data: token });
}

/** @throws an error with what keeps a login from being complete; for a failed proof, without details */
function complete(login: LoginResult): CompleteLogin {
  if (login.status === "complete") return login;
  if (login.status === "pending") throw new LoginPendingError(login.step);
  const { step, message } = login;
  if (step === null) throw refusal("E_INVALID_CREDENTIALS", "Bearer");
  throw new AshlarError("E_LOGIN_REFUSED", message, { extensions: { step } });
}

function refusal(code: "E_INVALID_CREDENTIALS" | "E_INVALID_TOKEN", challenge: string): AshlarError {
  return new AshlarError(code, undefined, { headers: { "WWW-Authenticate": challenge } });
}

/** Inputs that must be in the body, as text; inputs in the query don't count, because URLs get logged elsewhere. */
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
