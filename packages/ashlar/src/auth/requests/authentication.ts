import type { ServerResponse } from "node:http";
import type { Application } from "../../boot/index.ts";
import { type HttpContext, isResponse, toResponse } from "../../http/index.ts";
import { runApart } from "../../kernel/index.ts";
import { CSRF_HEADER, Csrf, type RequestSession, type VerifyCsrfToken } from "../../session/index.ts";
import { AshlarError, type MaybePromise, type RegisteredUser } from "../../support/index.ts";
import type { Guard } from "../guards/guard.ts";
import type { LoginMethod } from "../proofs/login-methods.ts";
import { WebGuard } from "../web/web-guard.ts";
import { CONFIRMED_MINUTES, isProvedWithin, NOTHING_PROVED, provedBy } from "./proved-by.ts";
import { refuseGuest } from "./refuse-guest.ts";
import { addHeaders, returnedHeaders, withHeaders } from "./returned-headers.ts";

/** The parts of an {@link Authentication}. */
export interface AuthenticationParts {
  readonly application: Application;
  readonly context: HttpContext;
  /** The guard that found the user; for a guest, the first one. */
  readonly guard: Guard<object>;
  /** Whether no guard found a user, or only one whose login doesn't count. */
  readonly isGuest: boolean;
  /** The value of `WWW-Authenticate` for a guest; `null` if none of the guards has one. */
  readonly challenge: string | null;
  /** The error for an invalid proof, such as an expired token; `null` if the request has none. */
  readonly refusal: AshlarError | null;
  /** The visitor's session; `null` in an application without sessions. */
  readonly session: RequestSession | null;
  /** Checks CSRF tokens; `null` in an application without sessions. */
  readonly csrf: VerifyCsrfToken | null;
}

/** The characters of a CSRF token: anything else can't be one, and may not fit into a header. */
const TOKEN = /^[\w-]+$/;

/** Responds to an API client, which always gets JSON, as from the API's routes. */
class ProgramError extends AshlarError {
  readonly respondsWithJson = true;
}

/** The visitor behind a request that another framework handles, as returned by `application.authenticate`. */
export class Authentication<User extends object = RegisteredUser> {
  /** The user; `null` for a guest. */
  readonly user: User | null;
  /** The name of the guard that found the user; for a guest, the first one. */
  readonly guard: string;
  /** The login of the user's browser; `null` for a guest, and for a user identified by a token. */
  readonly login: {
    readonly id: string;
    readonly authenticatedAt: Date | null;
    readonly expiresAt: Date;
    readonly createdAt: Date;
  } | null;
  /**
   * The claims of the token that identifies the user; `null` for a guest, and for a user who is identified in another
   * way.
   */
  readonly claims: Readonly<Record<string, unknown>> | null;
  /**
   * When the user last proved who they are; with a token, when the login that it was issued for did. `null` for a guest, after
   * a login without a proof, and for a token without the claim `auth_time`.
   */
  readonly authenticatedAt: Date | null;
  /** The proofs that the user has given in this login, each with its latest time; empty if a token identifies them. */
  readonly methods: readonly LoginMethod[];
  /** The factors that the user has satisfied, as values of RFC 8176: `["pwd", "otp", "mfa"]`. */
  readonly amr: readonly string[];
  /** Identifies the request in the application's log: the `X-Request-Id` that it was sent with, or a random UUID. */
  readonly requestId: string;
  /** The client's address, as the proxies of `APP.trustedProxies` report it; `null` if it is not known. */
  readonly clientAddress: string | null;
  readonly #parts: AuthenticationParts;

  /** @internal */
  constructor(parts: AuthenticationParts) {
    const { context, guard, isGuest } = parts;
    this.#parts = parts;
    this.user = isGuest ? null : (guard.knownUser as User | null);
    this.guard = guard.name;
    this.login = isGuest ? null : loginOf(guard);
    this.claims = this.user === null ? null : (guard.claims ?? null);
    const { authenticatedAt, methods, amr } = isGuest ? NOTHING_PROVED : provedBy(guard);
    this.authenticatedAt = authenticatedAt;
    this.methods = methods;
    this.amr = amr;
    this.requestId = context.request.id;
    this.clientAddress = context.request.clientAddress;
  }

  /**
   * The headers that have to go back to the browser, for hosts that have no `Response` to {@link apply} it to: renewed
   * cookies, each a separate entry, and headers that keep caches from sharing a response that depends on the user. Read
   * it last, since {@link csrfToken} may add a cookie.
   */
  get headers(): Headers {
    return returnedHeaders(this.#parts.context);
  }

  /**
   * Adds the headers that have to go back to the browser to a response: cookies, `Vary` (`cookie`, `authorization`),
   * and `Cache-Control`. If the response has its own `Cache-Control`, that stays, unless there is a cookie: then it
   * becomes `private, no-store`.
   *
   * @param response a `Response`, of which a copy is returned, or one of `node:http`, as in Express, which is changed
   */
  apply<Outgoing extends Response | ServerResponse>(response: Outgoing): Outgoing {
    if (isResponse(response)) return withHeaders(response, this.headers) as Outgoing;
    addHeaders(response, this.headers);
    return response;
  }

  /**
   * Reports whether the request may use an ability: an API token has only its own abilities, if it lists any; a login
   * has all; a guest has none.
   *
   * Security: it doesn't cover the user's own permissions, which your code has to check too.
   *
   * @param ability the ability, as in tokens, such as `orders.write`
   */
  tokenCan(ability: string): boolean {
    return this.user !== null && (this.#parts.guard.tokenCan?.(ability) ?? true);
  }

  /**
   * Reports whether the user has proved who they are in a certain way, within a number of minutes; see
   * `auth.confirmedWith`.
   *
   * @param proof the name of a proof or a step, or a factor as a value of RFC 8176
   * @param minutes default: 180
   */
  confirmedWith(proof: string, minutes: number = CONFIRMED_MINUTES): boolean {
    return isProvedWithin(this, this.#parts.context.auth.registry.proofs, proof, minutes);
  }

  /**
   * Returns the user.
   *
   * @throws `E_UNAUTHENTICATED` for a guest, with `WWW-Authenticate` if a token is required; for a refused token, the
   * errors of the API's own routes, such as `E_INVALID_TOKEN`
   */
  requireUser(): User {
    if (this.user === null) throw this.#refusal();
    return this.user;
  }

  /**
   * The response to a guest: a redirect to the login page, which leads back to this page. A caller that wants JSON, or
   * that sent a token in the header `Authorization`, gets a 401 in JSON instead, and so does every caller if only
   * tokens are accepted.
   */
  async refuse(): Promise<Response> {
    const { application, context, guard } = this.#parts;
    const { raw } = context.request;
    if (this.#isForProgram || context.request.wantsJson()) return await application.errorResponse(raw, this.#refusal());
    const result = await this.#inSession(() => refuseGuest(context, guard as Guard));
    // Now that the session is saved, its cookie is part of the response.
    return toResponse(context, result);
  }

  /**
   * Returns a CSRF token for a page with a form, in an input `__token`, or for a script that sends it as `X-CSRF-TOKEN`. It
   * begins a session if there isn't one, so apply the {@link headers} after it.
   *
   * @throws `E_SESSION` in an application without sessions, and if nothing may be stored and there is no session yet
   */
  async csrfToken(): Promise<string> {
    const { context, session } = this.#parts;
    if (context.isReadOnly && session?.isKnown !== true) {
      throw new AshlarError("E_SESSION", "A session can't begin in a request that is authenticated with readOnly.");
    }
    return await this.#inSession(() => Csrf.token(context));
  }

  /**
   * Checks the CSRF token of a request whose method is neither GET, HEAD nor OPTIONS: for handlers that have turned off
   * the check by `authenticate`.
   *
   * @param token the token from a form; default: the header `X-CSRF-TOKEN`
   * @throws `E_CSRF` if another site's page made the request, or if the token is missing or not the session's
   */
  verifyCsrf(token?: unknown): void {
    const { context, csrf } = this.#parts;
    if (csrf === null) throw new AshlarError("E_SESSION", "CSRF tokens need SessionProvider in PROVIDERS.");
    // The context's request has no body, so only the header is checked.
    if (token !== undefined && token !== null) {
      context.request.header(CSRF_HEADER, typeof token === "string" && TOKEN.test(token) ? token : "");
    }
    csrf.handle(context, () => {});
  }

  /** Runs a function with the session, and then saves the session. */
  async #inSession<T>(work: () => MaybePromise<T>): Promise<T> {
    const { application, context, session } = this.#parts;
    return await runApart(application, async () => {
      session?.reopen();
      const result = await work();
      if (!context.isReadOnly) await session?.close();
      return result;
    });
  }

  #refusal(): AshlarError {
    const { challenge, refusal } = this.#parts;
    const Refusal = this.#isForProgram ? ProgramError : AshlarError;
    if (refusal !== null) {
      const { code, detail, headers, extensions } = refusal;
      return new Refusal(code, detail, { headers, extensions });
    }
    const headers = challenge === null ? {} : { "WWW-Authenticate": challenge };
    return new Refusal("E_UNAUTHENTICATED", undefined, { headers });
  }

  /** Only API clients send tokens in a header. An input named `token` may be part of a page's address. */
  get #isForProgram(): boolean {
    const { context, guard, refusal } = this.#parts;
    return !guard.keepsLogins || (refusal !== null && context.request.bearerToken() !== null);
  }
}

function loginOf(guard: Guard<object>): Authentication["login"] {
  const login = guard instanceof WebGuard ? guard.currentLogin : null;
  if (login === null) return null;
  const { id, authenticatedAt, expiresAt, createdAt } = login;
  return { id, authenticatedAt, expiresAt, createdAt };
}
