import type { Authenticatable, LoginGuard, LoginResult } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { RegisteredUser } from "../../support/index.ts";
import { PASSKEY_LIMIT } from "../limits.ts";
import { PASSKEY } from "../stored/passkey-store.ts";
import { OwnPasskeys, UNKNOWN } from "./own-passkeys.ts";
import { type CreationOptions, type RequestOptions, requestOptions } from "./passkey-options.ts";
import { type PasskeyNewcomer, PasskeyRegistration } from "./passkey-registration.ts";
import { claimedPasskey, type ProvedPasskey, verifyPasskey, type WantedProof } from "./verified-passkey.ts";

declare module "../../http/exchange/context.ts" {
  interface FrameworkContext {
    /** Passkeys: logging in with one, confirming with one, and those of the user who is logged in. */
    readonly passkeys: RequestPasskeys;
  }
}

/**
 * The passkeys of a request: `context.passkeys`. Its methods take inputs as they arrive, whatever their type. A passkey comes
 * as the JSON of `PublicKeyCredential.toJSON()`, in a form as text.
 */
export class RequestPasskeys extends OwnPasskeys {
  readonly #registration: PasskeyRegistration;

  constructor(context: HttpContext, application: Application) {
    const service = application.container.make("passkeys");
    super(context, service);
    this.#registration = new PasskeyRegistration(context, application, service);
  }

  /**
   * Options with which a browser asks for a passkey to log in with: any, or, while a login waits for a step, one of its
   * user's. Each can be used once, within five minutes.
   *
   * @returns `unknown` is the id of a credential that the visitor has just tried, but that no account has; otherwise `null`
   */
  async loginOptions(): Promise<{ readonly options: RequestOptions; readonly unknown: string | null }> {
    const pending = this.context.visitor === null ? null : await this.context.auth.pendingLogin();
    const own = pending === null ? [] : await this.service.store.list(pending.user);
    const facts = { purpose: "login", subject: null } as const;
    const verification = pending === null ? "required" : "preferred";
    const options = requestOptions(this.context, this.service, facts, own, verification);
    return { options, unknown: this.takeUnknown() };
  }

  /**
   * Logs in the user of the passkey in the input `assertion`, within the limit `passkeys`, with the active guard or another
   * one. The authenticator must have verified its user.
   *
   * @throws `E_TOO_MANY_REQUESTS`
   */
  async logIn(options: { readonly remember?: boolean } = {}, guard?: LoginGuard): Promise<LoginResult> {
    const own = guard ?? this.context.auth.webGuard;
    const wanted = { guard: own.name, purpose: "login", subject: null, user: null } as const;
    const proved = await this.#verify({ ...wanted, requiresUserVerification: true });
    const { user, amr, unknownId } = proved;
    if (user !== null) return own.enter(user as RegisteredUser, { ...options, by: PASSKEY, amr });
    if (unknownId !== null && this.context.visitor !== null) this.context.session.put(UNKNOWN, unknownId);
    return own.fail({ by: PASSKEY, user: proved.claimed as RegisteredUser | null });
  }

  /**
   * Options with which a browser asks the current user for a passkey, to confirm who they are.
   *
   * @throws `E_UNAUTHENTICATED`
   */
  async confirmationOptions(): Promise<RequestOptions> {
    const user = await this.user();
    const facts = { purpose: "confirm", subject: this.subjectOf(user) } as const;
    const own = await this.service.store.list(user);
    return requestOptions(this.context, this.service, facts, own, "required");
  }

  /**
   * Confirms who the current user is by the passkey in the input `assertion`, as `auth.webGuard.confirm` does.
   *
   * @returns whether it counts; otherwise `auth.pending` names the step that it waits for, if any
   * @throws `E_UNAUTHENTICATED`; `E_TOO_MANY_REQUESTS`
   */
  async confirm(): Promise<boolean> {
    const { webGuard } = this.context.auth;
    const user = await this.user();
    const wanted = { guard: webGuard.name, purpose: "confirm", subject: this.subjectOf(user), user } as const;
    const { user: proved, amr } = await this.#verify({ ...wanted, requiresUserVerification: true });
    if (proved !== null) return webGuard.confirm({ by: PASSKEY, amr });
    await webGuard.fail({ by: PASSKEY, user: user as object as RegisteredUser });
    return false;
  }

  /**
   * Mails a link with which a newcomer makes an account that has a passkey and no password. If an account has the address,
   * its owner gets a mail about that instead. Neither the result nor the duration reveals which: the mail is sent after the
   * response.
   *
   * Security: limit the route, as `Passkeys.routes` does.
   *
   * @param attributes the address, and values for other columns, as for `accounts.create`: texts
   * @throws `E_INVALID_INPUT` if the address or the name can't be one; `E_INVALID_CONFIGURATION` without `MailProvider`
   */
  requestRegistration(attributes: Readonly<Record<string, unknown>> & { readonly email: unknown }): Promise<void> {
    return this.#registration.request(attributes);
  }

  /**
   * Reads the link of {@link requestRegistration}, for the page with the button. Changes nothing.
   *
   * @param token the parameter of the route `passkeys.register.finish`
   * @returns `null` if the token is not valid or has expired, or an account has the address by now
   */
  findRegistration(token: unknown): Promise<PasskeyNewcomer | null> {
    return this.#registration.find(token);
  }

  /**
   * Options with which a newcomer's browser makes the passkey.
   *
   * @throws `E_INVALID_LINK` if {@link findRegistration} returns `null`
   */
  registrationOptions(token: unknown): Promise<CreationOptions> {
    return this.#registration.options(token);
  }

  /**
   * Makes the account of a link with the passkey in the input `credential`, and logs its user in. The address counts as
   * verified.
   *
   * @returns as `auth.webGuard.enter`
   * @throws `E_INVALID_LINK` if {@link findRegistration} returns `null`; `E_INVALID_INPUT` if the passkey doesn't hold
   */
  register(token: unknown, options: { readonly remember?: boolean } = {}): Promise<LoginResult> {
    return this.#registration.complete(token, options);
  }

  /** Verifies the input `assertion`, within the limit. */
  async #verify(wanted: WantedProof): Promise<ProvedPasskey & { readonly claimed: Authenticatable | null }> {
    const { store, throttle } = this.service;
    const input = this.context.request.bodyInput("assertion");
    const claimed = await claimedPasskey(store, wanted.guard, input);
    const claimant = claimed.owned?.owner ?? null;
    await throttle.hit(this.context, PASSKEY_LIMIT, { guard: wanted.guard, user: claimant });
    const proved = await verifyPasskey(this.context, claimed, wanted, this.service);
    if (proved.user !== null) await throttle.giveBack(this.context, PASSKEY_LIMIT);
    return { ...proved, claimed: claimant };
  }
}
