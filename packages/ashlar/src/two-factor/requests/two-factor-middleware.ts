import type {} from "../../api/index.ts";
import { amrOf, asAuthenticatable, type Guard, type WebGuard } from "../../auth/index.ts";
import type { HttpContext, Middleware, Next } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import { AshlarError, ConfigurationError, type Message, type RegisteredUser } from "../../support/index.ts";
import { message } from "../messages.ts";
import type { TwoFactorService } from "../two-factor.ts";
import "../errors.ts";
import "../../http/index.ts";

declare module "../../routing/middleware-name.ts" {
  interface FrameworkMiddlewareArguments {
    "two-factor": "own";
  }
}

const OWN = "own";

/** @throws `E_INVALID_CONFIGURATION` if the application lacks the feature */
function serviceOf(container: Container): () => TwoFactorService {
  container.make("auth");
  if (container.has("twoFactor")) return () => container.make("twoFactor");
  const remedy = 'Add TwoFactorProvider, from "ashlar/two-factor".';
  throw new ConfigurationError("config/providers.ts: PROVIDERS", "lacks two-factor authentication.", remedy);
}

/**
 * `two-factor`: only lets users through whose login, or API token, was proved by two factors. A device that a user trusts doesn't
 * count. A visitor of a page is sent to the page that asks for both, and a user who has no second factor to the page that sets one
 * up. A caller that accepts JSON gets a 403, `E_TWO_FACTOR_REQUIRED` or `E_TWO_FACTOR_SETUP_REQUIRED`. Guests are treated as by
 * `auth`.
 *
 * `two-factor:own` also lets users through who have no second factor.
 *
 * API tokens say how their user logged in only with `authenticationClaims: true` in `config/api.ts`.
 */
export class TwoFactorMiddleware implements Middleware {
  readonly #service: () => TwoFactorService;

  constructor(container: Container) {
    this.#service = serviceOf(container);
  }

  /** @throws `E_UNAUTHENTICATED`, `E_TWO_FACTOR_REQUIRED`, `E_TWO_FACTOR_SETUP_REQUIRED` if the caller accepts JSON */
  async handle(context: HttpContext, next: Next, mode?: string): Promise<unknown> {
    const { auth } = context;
    const guard: Guard = auth.guard(auth.guardName);
    const user = await guard.user();
    if (user === null) return auth.refuseGuest();
    if (await isByTwo(context, guard)) return next();
    const hasFactor = await this.#service().has(user);
    if (!hasFactor && mode === OWN) return next();
    const error = new AshlarError(hasFactor ? "E_TWO_FACTOR_REQUIRED" : "E_TWO_FACTOR_SETUP_REQUIRED");
    if (context.request.wantsJson()) throw error;
    const page = hasFactor ? await confirmingPage(context, user, this.#service()) : "account.two_factor.app";
    if (page === null || !auth.hasRoute(page)) throw error;
    rememberPage(context);
    return auth.redirectToRoute(page);
  }

  /** @throws `E_INVALID_CONFIGURATION` unless there is no argument, or `own` */
  checkArguments(...modes: string[]): void {
    const [mode = OWN, ...rest] = modes;
    if (mode === OWN && rest.length === 0) return;
    throw new ConfigurationError("two-factor", "it takes no argument, or own.", "Write two-factor or two-factor:own.");
  }

  /** If the guard finds its user by the body, it waits for the body. */
  beforeBody(): boolean {
    return true;
  }
}

/**
 * Ends a login whose user needs a second factor, has none, and logged in before that was required: the next login waits until it is
 * set up. It belongs into the stack `web`, after `LoadUserMiddleware`. Without `TWO_FACTOR.required`, it does nothing.
 */
export class TwoFactorSetupMiddleware implements Middleware {
  readonly #service: () => TwoFactorService;

  constructor(container: Container) {
    this.#service = serviceOf(container);
  }

  handle(context: HttpContext, next: Next): unknown {
    if (this.#service().settings.required === false || context.auth.registry.names.length === 0) return next();
    return this.#check(context, next);
  }

  async #check(context: HttpContext, next: Next): Promise<unknown> {
    const { auth } = context;
    const guard: Guard = auth.guard(auth.guardName);
    const unmet = guard.keepsLogins ? await missingFactor(context, guard, this.#service()) : null;
    if (unmet === null) return next();
    await auth.logout();
    if (context.request.wantsJson()) throw new AshlarError("E_UNAUTHENTICATED", unmet);
    rememberPage(context);
    context.session.flash("status", context.t(unmet));
    return auth.redirectToRoute("login");
  }

  /** If the guard finds its user by the body, it waits for the body. */
  beforeBody(): boolean {
    return true;
  }
}

/**
 * What to tell a user who is logged in, needs a second factor, and has neither one nor days without one left; `null` for all
 * others. `application.authenticate` treats such a user as a guest.
 */
export async function missingFactor(
  context: HttpContext,
  guard: Guard<object>,
  service: TwoFactorService,
): Promise<Message | null> {
  if (service.settings.required === false) return null;
  const user = (await guard.user()) as RegisteredUser | null;
  if (user === null || (await isByTwo(context, guard)) || !(await service.lacks(user))) return null;
  return (await service.isInGrace(user, context.isReadOnly)) ? null : message("two_factor.setupRequired");
}

/** Reports whether what identifies a request's user was proved by two factors. */
async function isByTwo(context: HttpContext, guard: Guard<object>): Promise<boolean> {
  const { methods } = guard as Partial<Pick<WebGuard, "methods">>;
  if (typeof methods === "function") return amrOf(await methods.call(guard)).includes("mfa");
  const claims = (context as Partial<HttpContext>).apiToken?.claims;
  const amr: unknown = claims?.amr;
  return Array.isArray(amr) && amr.includes("mfa");
}

/**
 * The page on which a user can prove who they are by two factors. Any proof leads there if the second step is asked; otherwise only
 * one that is a second factor itself, such as a passkey: a password alone would lead back here.
 */
async function confirmingPage(
  context: HttpContext,
  user: RegisteredUser,
  service: TwoFactorService,
): Promise<string | null> {
  const proofs = await context.auth.registry.proofs.ownedBy(asAuthenticatable(user));
  const own = proofs.filter(({ page, startsLogins }) => startsLogins === true && page !== undefined);
  const factor = own.find(({ name }) => service.factors.some((one) => one.name === name));
  const first = (await service.isAsked(user)) ? own[0] : (factor ?? own[0]);
  return first?.page ?? null;
}

/** Remembers the page that a visitor wanted. */
function rememberPage(context: HttpContext): void {
  const { auth, request, visitor } = context;
  if (visitor === null || request.raw.method !== "GET") return;
  const { pathname, search } = new URL(request.raw.url);
  context.session.intend(`${pathname}${search}`, auth.guardName === auth.registry.defaultName ? null : auth.guardName);
}
