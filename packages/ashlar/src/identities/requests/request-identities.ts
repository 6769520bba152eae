import { type Authenticatable, asAuthenticatable, type LoginGuard, type LoginResult } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { AshlarError, type RegisteredUser, ValidationError } from "../../support/index.ts";
import { ProviderDown, ProviderRefusal } from "../exchange/failures.ts";
import type { ConfirmedIdentity, Taken } from "../exchange/provider-client.ts";
import { IDENTITY } from "../identity-proof.ts";
import type { IdentityService } from "../identity-service.ts";
import { IDENTITY_LIMIT } from "../limits.ts";
import { message } from "../messages.ts";
import { nameInForm } from "../providers/apple.ts";
import type { NamedProvider } from "../settings.ts";
import type { Identity } from "../stored/identity-store.ts";
import type { Mismatch, Visit, VisitPurpose } from "../visits/visits.ts";
import { accountOf } from "./linking.ts";
import { type IdentityRefusal, type RefusedVisit, refusedVisit } from "./refusals.ts";
import "../../http/index.ts";

declare module "../../http/exchange/context.ts" {
  interface FrameworkContext {
    /** Accounts at other sites: logging in with one, confirming with one, and those of the user who is logged in. */
    readonly identities: RequestIdentities;
  }
}

/** A provider, as pages show it. */
export interface ShownProvider {
  /** In `config/identities.ts`, and in routes: `google`. */
  readonly name: string;
  /** For people: `Google`. */
  readonly label: string;
}

/**
 * The end of a visit to a provider: `complete`, someone is logged in; `pending`, the login or the confirmation waits for a step, or
 * a step refused it: `auth.answerStep()` says so; `confirmed`; `connected`; `refused`.
 */
export type EndedVisit =
  | { readonly status: "complete" | "pending" | "confirmed" }
  | { readonly status: "connected"; readonly provider: string; readonly label: string }
  | RefusedVisit;

/** The parameters that visitors bring back. */
const PARAMETERS = ["code", "state", "iss", "error", "error_description"] as const;
const NAME_SECONDS = 600;
const MAX_LENGTH = 4096;
/** A challenge of PKCE with S256: the digest, in base64url. */
const CHALLENGE = /^[\w-]{43}$/;

/**
 * Accounts at other sites, in a request: `context.identities`. Its methods take names of providers and keys as they arrive from
 * inputs, whatever their type.
 */
export class RequestIdentities {
  readonly #context: HttpContext;
  readonly #service: IdentityService;

  constructor(context: HttpContext, service: IdentityService) {
    this.#context = context;
    this.#service = service;
  }

  /** The providers that visitors can log in with, in the order of `config/identities.ts`. */
  get providers(): readonly ShownProvider[] {
    return this.#service.providers.map(shown);
  }

  /**
   * Begins a visit to a provider, to log in.
   *
   * @param provider the parameter of the route
   * @returns the URL to send the visitor to
   * @throws `E_NOT_FOUND` if there is no such provider; `E_IDENTITY_PROVIDER_DOWN`; `E_MISSING_PACKAGE`
   */
  async begin(provider: unknown, options: { readonly remember?: boolean } = {}): Promise<string> {
    return this.#begin(this.#provider(provider), "login", null, options.remember === true);
  }

  /**
   * Begins a visit to a provider, to connect the current user's account there. Require a confirmation on the route.
   *
   * @throws as {@link begin}; `E_UNAUTHENTICATED`
   */
  async beginConnection(provider: unknown): Promise<string> {
    return this.#begin(this.#provider(provider), "connect", await this.#user(), false);
  }

  /**
   * Begins a visit to a provider that asks its users to log in again, to confirm who the current user is.
   *
   * @throws as {@link begin}; `E_UNAUTHENTICATED`; `E_NOT_FOUND` if the user can't confirm by it
   */
  async beginConfirmation(provider: unknown): Promise<string> {
    const user = await this.#user();
    const found = (await this.#service.confirmingOf(user)).find(({ name }) => name === provider);
    if (found === undefined) throw new AshlarError("E_NOT_FOUND");
    return this.#begin(found, "confirm", user, false);
  }

  /** The providers with which the current user can confirm who they are. @throws `E_UNAUTHENTICATED` */
  async confirming(): Promise<readonly ShownProvider[]> {
    return (await this.#service.confirmingOf(await this.#user())).map(shown);
  }

  /**
   * Ends the visit that a visitor comes back from, whatever they went for, within the limit `identities`.
   *
   * @param provider the parameter of the route
   * @throws `E_NOT_FOUND` if there is no such provider; `E_TOO_MANY_REQUESTS`; `E_INVALID_INPUT` if a new account's values are refused
   */
  async complete(provider: unknown): Promise<EndedVisit> {
    const found = this.#provider(provider);
    const { query } = this.#context.request;
    const state = typeof query.state === "string" ? query.state : "";
    const visit = await this.#service.visits.end(this.#context, found.name, state);
    if (typeof visit === "string") return this.#mismatched(found, visit);
    const confirmed = await this.#identify(found, takenOn(visit), this.#returnUrl(found));
    if (typeof confirmed === "string") return this.#refused(found, visit.purpose, confirmed);
    if (visit.purpose === "login") return this.#finishLogin(found, visit, confirmed);
    const user = await this.#ownerOf(visit);
    if (user === null) return refusedVisit(this.#context, found, "visitor");
    return visit.purpose === "confirm"
      ? this.#finishConfirmation(found, user, confirmed)
      : this.#finishConnection(found, user, confirmed);
  }

  /**
   * @internal The page that a visitor goes on to, who came back with a form.
   *
   * @throws `E_NOT_FOUND` if the provider sends no forms
   */
  pageAfterForm(provider: unknown): string {
    const { name, usesFormPost } = this.#provider(provider);
    if (!usesFormPost) throw new AshlarError("E_NOT_FOUND");
    const { auth, request } = this.#context;
    const brought: Record<string, string> = {};
    for (const parameter of PARAMETERS) {
      const value = request.bodyInput(parameter);
      if (typeof value === "string" && value.length <= MAX_LENGTH) brought[parameter] = value;
    }
    const person = nameInForm(request.bodyInput("user"));
    if (person !== null) brought.sealed_name = this.#service.names.seal("name", person);
    const { pages } = this.#service.application.container.make("accounts");
    return pages.url(auth.guardName, "identities.callback", { provider: name }, brought);
  }

  /**
   * Begins a visit of an app to a provider. The input `code_challenge` is that of a verifier that the app keeps (RFC 7636, `S256`), and
   * `redirect_uri` one of `IDENTITIES.appRedirects`.
   *
   * @returns the URL to open in the system's browser, and the state that the app has to find in the URL that it is sent back to
   * @throws `E_INVALID_INPUT`; as {@link begin}
   */
  async beginForApp(provider: unknown): Promise<{ readonly url: string; readonly state: string }> {
    const found = this.#provider(provider);
    const challenge = this.#context.request.bodyInput("code_challenge");
    const redirectUri = this.#appRedirect();
    if (typeof challenge !== "string" || !CHALLENGE.test(challenge)) {
      throw new ValidationError({ code_challenge: [message("identities.challengeInvalid")] });
    }
    const visit = this.#service.visits.beginForApp(found.name);
    const url = await this.#unlessDown(found, () =>
      this.#service.clientOf(found).urlForApp(redirectUri, { ...visit, challenge }),
    );
    return { url: url.href, state: visit.state };
  }

  /**
   * Logs in the user of an app that was sent back, with a guard: by the inputs `code`, `state` and `iss` of that URL, `code_verifier` and
   * `redirect_uri`, within the limit `identities`.
   *
   * @throws `E_IDENTITY_REFUSED`, `E_IDENTITY_PROVIDER_DOWN`, with the `reason`; `E_NOT_FOUND`; `E_INVALID_INPUT`; `E_TOO_MANY_REQUESTS`
   */
  async logInForApp(provider: unknown, guard: LoginGuard): Promise<LoginResult> {
    const found = this.#provider(provider);
    const { request } = this.#context;
    const url = new URL(this.#appRedirect());
    for (const name of PARAMETERS) {
      const value = request.bodyInput(name);
      if (typeof value === "string") url.searchParams.set(name, value);
    }
    const verifier = request.bodyInput("code_verifier");
    const visit = await this.#service.visits.endForApp(found.name, url.searchParams.get("state") ?? "");
    if (typeof visit === "string") throw refusedVisit(this.#context, found, visit).error;
    const taken = { ...visit, verifier: typeof verifier === "string" ? verifier : "", confirms: false };
    const confirmed = await this.#identify(found, taken, url);
    const login = typeof confirmed === "string" ? confirmed : await this.#enter(found, confirmed, guard, false);
    if (typeof login !== "string") return login;
    await guard.fail({ by: IDENTITY });
    throw refusedVisit(this.#context, found, login).error;
  }

  /** The accounts that the current user has connected, newest first. @throws `E_UNAUTHENTICATED` */
  async list(): Promise<readonly (Identity & { readonly label: string })[]> {
    const own = await this.#service.store.list(await this.#user());
    return own.map((identity) => ({ ...identity, label: this.#service.labelOf(identity.provider) }));
  }

  /**
   * Disconnects one of the current user's accounts, unless it is the last way to log in. The owner is notified by mail.
   *
   * @param id as in {@link list}; it may come from an input, of any type
   * @returns whether it existed and belonged to the user
   * @throws `E_INVALID_INPUT` if it is the last way to log in; `E_UNAUTHENTICATED`
   */
  async remove(id: unknown): Promise<boolean> {
    const user = await this.#user();
    const { notices, store } = this.#service;
    const identity = (await store.list(user)).find((one) => one.id === String(id));
    if (identity === undefined) return false;
    const { provider } = identity;
    const facts = { user, identityId: identity.id, provider, label: this.#service.labelOf(provider) };
    let isRemoved = false;
    const isAllowed = await this.#context.accounts.removeMethod(user as object as RegisteredUser, async () => {
      isRemoved = await store.remove(user, identity.id);
      if (isRemoved) await notices.report("identities.disconnected", this.#context, facts);
    });
    if (!isAllowed) throw new ValidationError({ identity: [message("identities.last")] });
    return isRemoved;
  }

  async #begin(
    provider: NamedProvider,
    purpose: VisitPurpose,
    user: Authenticatable | null,
    remember: boolean,
  ): Promise<string> {
    const { auth } = this.#context;
    const owner = user === null ? null : auth.nameOfOwner(auth.webGuard.name, user);
    const visit = this.#service.visits.begin(this.#context, { provider: provider.name, purpose, owner, remember });
    const redirectUri = this.#service.callbackUrl(auth.guardName, provider);
    const client = this.#service.clientOf(provider);
    return (await this.#unlessDown(provider, () => client.authorizationUrl(redirectUri, takenOn(visit)))).href;
  }

  async #unlessDown<T>(provider: NamedProvider, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ProviderDown)) throw error;
      this.#log(provider, "down", error);
      throw refusedVisit(this.#context, provider, "down").error;
    }
  }

  /** @throws `E_INVALID_INPUT` */
  #appRedirect(): string {
    const redirectUri = this.#context.request.bodyInput("redirect_uri");
    const found = this.#service.appRedirects.find((one) => one === redirectUri);
    if (found === undefined) throw new ValidationError({ redirect_uri: [message("identities.redirectInvalid")] });
    return found;
  }

  /** Asks the provider who has come back, within the limit. */
  async #identify(provider: NamedProvider, taken: Taken, url: URL): Promise<ConfirmedIdentity | IdentityRefusal> {
    if (url.searchParams.get("error") === "access_denied") return "canceled";
    // Apple's own code.
    if (url.searchParams.get("error") === "user_cancelled_authorize") return "canceled";
    const { throttle } = this.#service;
    await throttle.hit(this.#context, IDENTITY_LIMIT, { account: null });
    try {
      const confirmed = await this.#service.clientOf(provider).identify(url, taken);
      await throttle.giveBack(this.#context, IDENTITY_LIMIT);
      return { ...confirmed, name: confirmed.name ?? this.#nameFromForm() };
    } catch (error) {
      if (error instanceof ProviderDown) return this.#log(provider, "down", error);
      if (!(error instanceof ProviderRefusal)) throw error;
      return this.#log(provider, error.isUnwanted ? "unwanted" : "failed", error);
    }
  }

  async #finishLogin(provider: NamedProvider, visit: Visit, confirmed: ConfirmedIdentity): Promise<EndedVisit> {
    const guard = this.#context.auth.webGuard;
    const login = await this.#enter(provider, confirmed, guard, visit.remember);
    if (typeof login === "string") return this.#refused(provider, "login", login);
    if (login.status === "complete") return { status: "complete" };
    if (login.status === "pending" || login.step !== null) return { status: "pending" };
    return refusedVisit(this.#context, provider, "failed");
  }

  async #enter(
    provider: NamedProvider,
    confirmed: ConfirmedIdentity,
    guard: LoginGuard,
    remember: boolean,
  ): Promise<LoginResult | IdentityRefusal> {
    const account = await accountOf(this.#context, this.#service, provider, confirmed);
    if (typeof account === "string") return account;
    const { user, isNew } = account;
    const options = { by: IDENTITY, remember, firstLogin: isNew };
    return guard.enter(user as object as RegisteredUser, options);
  }

  async #finishConfirmation(
    provider: NamedProvider,
    user: Authenticatable,
    confirmed: ConfirmedIdentity,
  ): Promise<EndedVisit> {
    const { webGuard } = this.#context.auth;
    const found = await this.#service.store.ownerOf(webGuard.name, confirmed);
    if (found === null || String(found.owner.authId()) !== String(user.authId())) {
      await webGuard.fail({ by: IDENTITY, user: user as object as RegisteredUser });
      return refusedVisit(this.#context, provider, "not_yours");
    }
    await this.#service.store.recordUse(user, found.identity, confirmed);
    return (await webGuard.confirm({ by: IDENTITY })) ? { status: "confirmed" } : { status: "pending" };
  }

  async #finishConnection(
    provider: NamedProvider,
    user: Authenticatable,
    confirmed: ConfirmedIdentity,
  ): Promise<EndedVisit> {
    const { notices, store } = this.#service;
    const { label, name } = provider;
    const end = await store.transaction(async () => {
      const id = await store.add(user, name, confirmed);
      if (id === null) return "failed";
      if (id !== "known") {
        await notices.report("identities.connected", this.#context, { user, identityId: id, provider: name, label });
        return null;
      }
      const found = await store.ownerOf(this.#context.auth.webGuard.name, confirmed);
      return String(found?.owner.authId()) === String(user.authId()) ? null : "elsewhere";
    });
    return end === null ? { status: "connected", provider: name, label } : refusedVisit(this.#context, provider, end);
  }

  /** Someone who has come back already, and reloads the page, is logged in. */
  async #mismatched(provider: NamedProvider, mismatch: Mismatch): Promise<EndedVisit> {
    if (mismatch === "used" && (await this.#context.auth.check())) return { status: "complete" };
    return refusedVisit(this.#context, provider, mismatch);
  }

  async #refused(provider: NamedProvider, purpose: VisitPurpose, reason: IdentityRefusal): Promise<RefusedVisit> {
    if (purpose === "login" && reason === "failed") await this.#context.auth.webGuard.fail({ by: IDENTITY });
    return refusedVisit(this.#context, provider, reason);
  }

  /** The user who is logged in, if it is still the one who began the visit. */
  async #ownerOf({ owner }: Visit): Promise<Authenticatable | null> {
    const { auth } = this.#context;
    const user = await auth.webGuard.user();
    if (user === null || auth.nameOfOwner(auth.webGuard.name, user) !== owner) return null;
    return asAuthenticatable(user);
  }

  /** Where the visitor came back to, as the provider knows it, with the parameters that they brought. */
  #returnUrl(provider: NamedProvider): URL {
    const url = new URL(this.#service.callbackUrl(this.#context.auth.guardName, provider));
    const { query } = this.#context.request;
    for (const name of PARAMETERS) {
      const value = query[name];
      if (typeof value === "string") url.searchParams.set(name, value);
    }
    return url;
  }

  /** The name that a provider's form had, which `Identities.routes` has sealed; `null` if it had none. */
  #nameFromForm(): string | null {
    const { sealed_name: sealed } = this.#context.request.query;
    return typeof sealed === "string" ? this.#service.names.open("name", sealed, NAME_SECONDS) : null;
  }

  #provider(name: unknown): NamedProvider {
    const found = typeof name === "string" ? this.#service.provider(name) : null;
    if (found === null) throw new AshlarError("E_NOT_FOUND");
    return found;
  }

  async #user(): Promise<Authenticatable> {
    const user = await this.#context.auth.webGuard.user();
    if (user === null) throw new AshlarError("E_UNAUTHENTICATED");
    return asAuthenticatable(user);
  }

  #log<Reason extends IdentityRefusal>({ name }: NamedProvider, reason: Reason, error: Error): Reason {
    const details = { provider: name, reason: error.message, err: error.cause };
    this.#service.application.logger.warn(details, "A provider did not confirm who a visitor is.");
    return reason;
  }
}

function takenOn({ state, nonce, verifier, purpose }: Visit): Taken {
  return { state, nonce, verifier, confirms: purpose === "confirm" };
}

function shown({ name, label }: NamedProvider): ShownProvider {
  return { name, label };
}
