import { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { HostRequest } from "../../server/index.ts";
import { RequestSession, VerifyCsrfToken } from "../../session/index.ts";
import { AshlarError, type GuardUser } from "../../support/index.ts";
import type { Guard } from "../guards/guard.ts";
import { requireGuards } from "../guards/require-guards.ts";
import { Authentication, type AuthenticationParts } from "./authentication.ts";
import "../../http/index.ts";

/** Options of `application.authenticate`. */
export interface AuthenticateOptions<Name extends string = string> {
  /**
   * The guard to ask, or several guards: the first that finds a user is used. Default: the application's default guard.
   */
  readonly guard?: Name | readonly Name[];
  /** The address of the socket, if the request doesn't know it, as for {@link Application.fetch}. */
  readonly address?: string | undefined;
  /**
   * Whether to check the CSRF token of a request whose user is proven by a cookie, unless its method is GET, HEAD or OPTIONS.
   * Default: `true`.
   *
   * Security: with `false`, another site's page can make a user's browser trigger the handler, unless it calls
   * `verifyCsrf` itself.
   */
  readonly csrf?: boolean;
  /** The token that came in the request's form, in `__token`. Default: the token in the header `X-CSRF-TOKEN`. */
  readonly csrfToken?: unknown;
  /**
   * Whether the call must not store anything: neither a use of the login or the token nor a session. Default: `false`.
   */
  readonly readOnly?: boolean;
}

/** How many requests of other frameworks were authenticated, by their outcome. */
interface AuthenticationCounts {
  users: number;
  guests: number;
  /** The number of requests that ended with an error, such as a missing CSRF token. */
  refused: number;
}

declare module "../../boot/monitoring/application-stats.ts" {
  interface FrameworkStats {
    /** The requests that `authenticate` was called for, by their outcome. */
    readonly authentications?: { readonly users: number; readonly guests: number; readonly refused: number };
  }
}

declare module "../../boot/application/application.ts" {
  interface FrameworkApplication {
    /**
     * Finds out who makes a request that another framework handles, such as Hono, Express, Fastify or SvelteKit:
     *
     * ```ts
     * hono.get("/orders", async (c) => {
     *   const visitor = await application.authenticate(c.req.raw);
     *   if (visitor.user === null) return await visitor.refuse();
     *   return visitor.apply(c.text(`Orders of ${visitor.user.name}`));
     * });
     * ```
     *
     * It runs inside the application's `httpMiddleware`, and never touches the request's body.
     *
     * Security: a request that could change something, and whose user is proven by a cookie, needs a CSRF token.
     *
     * @param request the request: one of the Fetch API, or one of `node:http`, such as Express's `req` and Fastify's
     *   `request.raw`
     * @throws `E_CSRF` if the CSRF token is missing or not the session's, or if another site's page made the request;
     *   `E_UNKNOWN_GUARD`; `E_BAD_REQUEST` if host or target are malformed; `E_ANSWERED` if a middleware responds itself;
     *   `E_SHUTTING_DOWN`. `errorResponse` responds to all of them
     */
    authenticate<Name extends string = string>(
      request: HostRequest,
      options?: AuthenticateOptions<Name>,
    ): Promise<Authentication<GuardUser<Name>>>;
  }
}

const counts = new WeakMap<Application, AuthenticationCounts>();
const csrfChecks = new WeakMap<Application, VerifyCsrfToken>();

/** Counts an application's calls of {@link Application.authenticate}. */
export function countAuthentications(application: Application): void {
  const counted = { users: 0, guests: 0, refused: 0 };
  counts.set(application, counted);
  application.addStats("authentications", () => ({ ...counted }));
}

/** The check of CSRF tokens, which serves every request of an application. */
function csrfCheckOf(application: Application): VerifyCsrfToken {
  let check = csrfChecks.get(application);
  if (check === undefined) {
    check = new VerifyCsrfToken(application.container);
    csrfChecks.set(application, check);
  }
  return check;
}

Application.prototype.authenticate = async function authenticate<Name extends string = string>(
  this: Application,
  request: HostRequest,
  options: AuthenticateOptions<Name> = {},
): Promise<Authentication<GuardUser<Name>>> {
  const guards = requireGuards(this.container);
  const names = [options.guard ?? guards.defaultName].flat();
  for (const name of names) guards.checkName(name);
  const counted = counts.get(this)!;
  try {
    const work = (context: HttpContext) => identify<GuardUser<Name>>(this, context, names, options);
    const authentication = await this.hosting.run(request, options.address, work);
    if (authentication.user === null) counted.guests++;
    else counted.users++;
    return authentication;
  } catch (error) {
    counted.refused++;
    throw error;
  }
};

async function identify<User extends object>(
  application: Application,
  context: HttpContext,
  names: readonly string[],
  { csrf = true, csrfToken, readOnly = false }: AuthenticateOptions,
): Promise<Authentication<User>> {
  const { container } = application;
  context.isReadOnly = readOnly;
  const session = container.has("session") ? new RequestSession(context, container.make("session")) : null;
  await session?.load();
  try {
    const asked = await ask(context, names);
    const { guard } = asked;
    const authentication = new Authentication<User>({
      application,
      context,
      ...asked,
      session,
      csrf: session === null ? null : csrfCheckOf(application),
    });
    if (csrf && guard.keepsLogins && authentication.user !== null) authentication.verifyCsrf(csrfToken);
    return authentication;
  } finally {
    if (!readOnly) await session?.close();
  }
}

/** Activates the first guard that finds a user, or if none does, the first guard. */
async function ask(
  context: HttpContext,
  names: readonly string[],
): Promise<Pick<AuthenticationParts, "guard" | "isGuest" | "challenge" | "refusal">> {
  const { auth } = context;
  let challenge: string | null = null;
  let refusal: AshlarError | null = null;
  for (const name of names) {
    const guard: Guard<object> = auth.guard(name);
    const isKnown = (await guard.user()) !== null;
    const unmet = isKnown ? await auth.registry.unmetBy(context, guard) : null;
    if (isKnown && unmet === null) return { guard, isGuest: false, challenge: null, refusal: null };
    challenge ??= guard.challenge;
    const own = unmet === null ? (guard.refusal ?? null) : new AshlarError("E_UNAUTHENTICATED", unmet);
    refusal = weightierOf(refusal, own);
  }
  return { guard: auth.guard(names[0]!), isGuest: true, challenge, refusal };
}

/**
 * Returns the first of two refusals, unless the second asks the caller to try again later, because the proof may be
 * valid.
 */
function weightierOf(first: AshlarError | null, second: AshlarError | null): AshlarError | null {
  return second?.status === 503 ? second : (first ?? second);
}
