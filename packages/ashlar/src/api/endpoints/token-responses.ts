import { type CompleteLogin, LoginPendingError, type LoginResult } from "../../auth/index.ts";
import type { HttpContext, HttpResponse } from "../../http/index.ts";
import { AshlarError, type Message } from "../../support/index.ts";
import type { Issuer } from "../drivers/issuer.ts";
import type { IssuedToken, TokenRequest } from "../stores/store.ts";
import "../errors.ts";

/** What a caller wants of a new token. */
export type WantedToken = Pick<TokenRequest, "name" | "abilities">;

/**
 * Responds to a login with a token: as the token endpoint, whatever the login was proved by.
 *
 * @throws `E_LOGIN_PENDING` with the name of the required `step`; `E_LOGIN_REFUSED` with the step's message;
 * `E_INVALID_CREDENTIALS` if the proof failed, or access to the account has ended since; `E_INVALID_INPUT` if the user may not
 * give one of the abilities
 */
export async function respondToLogin(
  context: HttpContext,
  login: LoginResult,
  issuer: Issuer,
  wanted: WantedToken,
): Promise<HttpResponse> {
  const complete = requireComplete(login);
  try {
    return tokenResponse(context, await issuer.issueTo(complete, { ...clientOf(context), ...wanted }));
  } catch (error) {
    // The proof held when it was verified; access has ended since, by a new password, for example.
    if (error instanceof AshlarError && (error.code === "E_STALE_PROOF" || error.code === "E_ROW_NOT_FOUND")) {
      throw refusal("E_INVALID_CREDENTIALS", "Bearer");
    }
    throw error;
  }
}

/** RFC 6749 §5.1: a response with a token must never be cached. */
export function tokenResponse({ response }: HttpContext, issued: IssuedToken): HttpResponse {
  const { token: data, refresh, expiresInSeconds, abilities } = issued;
  const more =
    refresh === null
      ? { ...(abilities !== null && { abilities }) }
      : { refresh, expires_in: expiresInSeconds, abilities };
  return response.header("Cache-Control", "no-store").json({ data, ...more });
}

/** Who asks for a token. */
export function clientOf({ request }: HttpContext): TokenRequest {
  return { address: request.clientAddress, userAgent: request.userAgent() };
}

/** @throws an error with what keeps a login from being complete; for a failed proof, without details */
export function requireComplete(login: LoginResult): CompleteLogin {
  if (login.status === "complete") return login;
  if (login.status === "pending") throw new LoginPendingError(login.step, null, login.message);
  const { step, message } = login;
  if (step === null) throw refusal("E_INVALID_CREDENTIALS", "Bearer");
  throw new AshlarError("E_LOGIN_REFUSED", message, { extensions: { step } });
}

/** An error of a token endpoint, with its challenge (RFC 6750 §3). */
export function refusal(
  code: "E_INVALID_CREDENTIALS" | "E_INVALID_TOKEN",
  challenge: string,
  sentence?: Message,
): AshlarError {
  return new AshlarError(code, sentence, { headers: { "WWW-Authenticate": challenge } });
}
