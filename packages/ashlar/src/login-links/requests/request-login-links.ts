import type { AccountUser, LoginGuard, LoginResult } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { Services } from "../../kernel/index.ts";
import { declareKeyPurpose, type KeyPurpose } from "../../security/index.ts";
import { AshlarError, type RegisteredUser, ValidationError } from "../../support/index.ts";
import type { LinkClaim, MailRequest, RequestKind } from "../codes/login-codes.ts";
import { MAIL_LIMIT } from "../limits.ts";
import { CODE_FIELD, hasMailbox, MAIL } from "../login-link-proof.ts";
import type { LoginLinkService } from "../login-link-service.ts";
import { LoginLinkRegistrationMail } from "../mails.ts";
import { message } from "../messages.ts";
import { acceptCode, mailedAccount } from "./code-check.ts";
import { mailCode, originOf } from "./login-mails.ts";
import "../../auth/index.ts";
import "../../http/index.ts";

declare module "../../http/exchange/context.ts" {
  interface FrameworkContext {
    /** Logins by mail: with a code, or with a link. */
    readonly loginLinks: RequestLoginLinks;
  }
}

/** The purpose that links to registrations are signed for. */
export const REGISTRATION_KEY: KeyPurpose = declareKeyPurpose("login-link-registration");

/** The page behind these links. */
export const REGISTRATION_PAGE = "login_links.register";

/** The session's keys for its last request of a kind. */
const KEYS: Readonly<Record<RequestKind, string>> = { login: "login_links.request", confirm: "login_links.confirm" };

/** Options of a login by mail. */
interface MailLoginOptions {
  /** Whether the login outlasts the browser's session; default: the value given to `requestLogin`. */
  readonly remember?: boolean;
}

/** A link, and the user whom it logs in. */
interface FoundLink {
  readonly claim: LinkClaim;
  readonly user: AccountUser;
  readonly needsCode: boolean;
}

/** The logins by mail of a request: `context.loginLinks`. Its methods take inputs as they arrive, whatever their type. */
export class RequestLoginLinks {
  readonly #context: HttpContext;
  readonly #application: Application;
  readonly #service: LoginLinkService;
  readonly #registration: ReturnType<Services["accounts"]["mailProofs"]["registration"]>;
  #removedEarlier = false;

  constructor(context: HttpContext, application: Application) {
    this.#context = context;
    this.#application = application;
    this.#service = application.container.make("loginLinks");
    this.#registration = this.#service.proofs.registration(context, {
      keyPurpose: REGISTRATION_KEY,
      page: REGISTRATION_PAGE,
      proof: MAIL,
      title: "a registration by mail",
      mail: (data) => new LoginLinkRegistrationMail(data),
    });
  }

  /** Whether addresses without an account get a link that makes one: `LOGIN_LINKS.registers`. */
  get registers(): boolean {
    return this.#service.settings.registers ?? false;
  }

  /**
   * Whether a login of this request has proved the address of its account for the first time, and removed a password or other
   * ways to log in that were set up before. Tell the user.
   */
  get removedEarlier(): boolean {
    return this.#removedEarlier;
  }

  /**
   * Mails a link and a code to the owner of the account with this address. Both work once, within 15 minutes. The link logs in
   * directly only in the same browser. If there is no account, and `LOGIN_LINKS.registers` is on, a link is mailed that makes
   * one.
   *
   * Neither the result nor the duration reveals whether there is an account: the lookup and the mail both happen after the
   * response. Your response must be the same in both cases, too.
   *
   * Security: limit the route, as `LoginLinks.routes` does.
   *
   * @returns the text of the request, for a client without a session: it sends the text back with the code
   * @throws `E_INVALID_INPUT` if it is not an email address; `E_INVALID_CONFIGURATION` without `MailProvider`
   */
  async requestLogin(email: unknown, { remember = false }: MailLoginOptions = {}, guard?: LoginGuard): Promise<string> {
    const { background, container } = this.#application;
    const address = this.#service.proofs.requireEmail(email);
    await container.make("accounts").mails.prepare();
    const { request, text } = this.#newRequest({
      kind: "login",
      guard: this.#guardOf(guard),
      email: address,
      remember,
    });
    const origin = originOf(this.#context, request);
    background.runUnpredictably("a login by mail", async () => {
      const user = await container.make("accounts").users.of(request.guard).findByEmail(address);
      if (user !== null) return mailCode(this.#application, this.#service, user, origin);
      if (this.registers) return this.#registration.mailLink(request.guard, { email: address }, origin.language);
    });
    return text;
  }

  /** The address that this visitor has last asked for a mail to; `null` if it has, or after 15 minutes. */
  findRequest(): { readonly email: string } | null {
    const request = this.#requestOf("login");
    return request === null ? null : { email: request.email };
  }

  /**
   * Logs in with the input `mailed_code`, within the limits `login_links.code` and `login.account`, with the active guard or
   * another one. An address that was never proved before counts as verified from then on, and everything that was set up
   * before ends; see {@link removedEarlier}.
   *
   * @param options `request`: the text of {@link requestLogin}, for a client without a session
   * @returns as `auth.webGuard.enter`
   * @throws `E_TOO_MANY_REQUESTS`
   */
  async logIn(
    options: MailLoginOptions & { readonly request?: unknown } = {},
    guard?: LoginGuard,
  ): Promise<LoginResult> {
    const own = guard ?? this.#context.auth.webGuard;
    const request = this.#requestOf("login", options.request);
    if (request === null || request.guard !== this.#guardOf(guard)) return own.fail({ by: MAIL });
    const { email } = request;
    const user = await this.#application.container.make("accounts").users.of(request.guard).findByEmail(email);
    const isRight = await acceptCode(this.#context, this.#service, { request, user, email });
    if (isRight) return this.#enter(own, request, user!, { remember: options.remember ?? request.remember });
    return own.fail({ by: MAIL, user: user as object as RegisteredUser | null, identifier: email });
  }

  /**
   * Reads the link of a mail, for its page. Changes nothing.
   *
   * @param token the parameter of the route `login_links.link`
   * @returns the address of the account, and whether the code of the same mail is needed, because another browser has asked for
   * it; `null` if the link was used already, has expired, or access to the account has ended since
   */
  async findLink(token: unknown): Promise<{ readonly email: string; readonly needsCode: boolean } | null> {
    const found = await this.#findLink(token);
    return found === null ? null : { email: found.user.email!, needsCode: found.needsCode };
  }

  /**
   * Logs in with the link of a mail. Unless this browser has asked for the mail, the code of the same mail is needed, too, in the
   * input `mailed_code`: programs that check mails press buttons, but don't read codes.
   *
   * @returns as {@link logIn}
   * @throws `E_INVALID_LINK` if {@link findLink} returns `null`; `E_TOO_MANY_REQUESTS`
   */
  async logInByLink(token: unknown, options: MailLoginOptions = {}): Promise<LoginResult> {
    const own = this.#context.auth.webGuard;
    const found = await this.#findLink(token);
    if (found === null) throw new AshlarError("E_INVALID_LINK", message("login_links.status.linkInvalid"));
    const { claim, user, needsCode } = found;
    const { request } = claim;
    const email = user.email!;
    if (needsCode) {
      const isRight = await acceptCode(this.#context, this.#service, { request, user, email });
      if (isRight) return this.#enter(own, request, user, { remember: options.remember ?? false });
      return own.fail({ by: MAIL, user: user as object as RegisteredUser, identifier: email });
    }
    const { remember = false } = this.#requestOf("login") ?? {};
    if (!(await this.#service.take(request.id))) {
      throw new AshlarError("E_INVALID_LINK", message("login_links.status.linkInvalid"));
    }
    return this.#enter(own, request, user, { remember: options.remember ?? remember });
  }

  /**
   * Mails a code to the current user, who confirms with it who they are.
   *
   * @throws `E_UNAUTHENTICATED`; `E_INVALID_INPUT` if the user's address isn't verified; `E_TOO_MANY_REQUESTS` by the limit
   * `login_links`
   */
  async requestConfirmation(): Promise<void> {
    const user = await this.#user();
    if (!hasMailbox(user)) throw new ValidationError({ [CODE_FIELD]: [message("login_links.unverified")] });
    const guard = this.#guardOf();
    const email = user.email!;
    await this.#service.throttle.hit(this.#context, MAIL_LIMIT, { guard, account: email });
    const { request } = this.#newRequest({ kind: "confirm", guard, email, remember: false });
    await mailCode(this.#application, this.#service, user, originOf(this.#context, request));
  }

  /** Whether this visitor has asked for a code to confirm with, in the last 15 minutes. */
  get isConfirmationSent(): boolean {
    return this.#requestOf("confirm") !== null;
  }

  /**
   * Confirms who the current user is by the input `mailed_code`, as `auth.webGuard.confirm` does.
   *
   * @returns whether it counts; otherwise `auth.pending` names the step that it waits for, if any
   * @throws `E_UNAUTHENTICATED`; `E_TOO_MANY_REQUESTS`
   */
  async confirm(): Promise<boolean> {
    const { webGuard } = this.#context.auth;
    const user = await this.#user();
    const request = this.#requestOf("confirm");
    const isOwn = request !== null && hasMailbox(user) && request.guard === this.#guardOf();
    if (isOwn && (await acceptCode(this.#context, this.#service, { request, user, email: user.email! }))) {
      this.#context.session.forget(KEYS.confirm);
      return webGuard.confirm({ by: MAIL });
    }
    await webGuard.fail({ by: MAIL, user: user as object as RegisteredUser });
    return false;
  }

  /**
   * Reads the link that makes an account, for its page. Changes nothing.
   *
   * @param token the parameter of the route `login_links.register`
   * @returns the address; `null` if the token is not valid or has expired, or an account has the address by now
   */
  findRegistration(token: unknown): Promise<{ readonly email: string } | null> {
    return this.#registration.find(token);
  }

  /**
   * Makes the account of a link, without a password, and logs its user in. The address counts as verified.
   *
   * @param attributes values for other columns, as for `accounts.create`
   * @returns as `auth.webGuard.enter`
   * @throws `E_INVALID_LINK` if {@link findRegistration} returns `null`; `E_INVALID_INPUT`
   */
  async register(
    token: unknown,
    attributes: Readonly<Record<string, unknown>>,
    options: MailLoginOptions = {},
  ): Promise<LoginResult> {
    const newcomer = await this.#registration.require(token);
    const user = await this.#registration.create(newcomer, attributes);
    return this.#context.auth.webGuard.enter(user, { ...options, by: MAIL, firstLogin: true });
  }

  async #findLink(token: unknown): Promise<FoundLink | null> {
    const claim = this.#service.codes.readLink(token);
    if (claim === null || claim.request.kind !== "login" || claim.request.guard !== this.#guardOf()) return null;
    const { account, request } = claim;
    const user = await this.#application.container.make("accounts").users.of(request.guard).findByAuthId(account.id);
    if (user === null || user.isBlocked?.() === true) return null;
    const { id, epoch, email } = mailedAccount(user);
    if (id !== account.id || epoch !== account.epoch || email !== account.email) return null;
    if (await this.#service.isTaken(request.id)) return null;
    return { claim, user, needsCode: this.#requestOf("login")?.id !== request.id };
  }

  async #enter(
    guard: LoginGuard,
    request: Pick<MailRequest, "guard">,
    user: AccountUser,
    options: Required<MailLoginOptions>,
  ): Promise<LoginResult> {
    const { firstProof } = this.#application.container.make("accounts");
    const proved = await firstProof.give(this.#context, request.guard, user);
    if (this.#context.visitor !== null) this.#context.session.forget(KEYS.login);
    if (proved === null) return guard.fail({ by: MAIL, user: user as object as RegisteredUser });
    this.#removedEarlier = proved.removedEarlier;
    return guard.enter(proved.user as object as RegisteredUser, { ...options, by: MAIL });
  }

  /** Makes a request, which a visitor's session keeps instead of the one before. */
  #newRequest(facts: Omit<MailRequest, "id">): { readonly request: MailRequest; readonly text: string } {
    const made = this.#service.codes.request(facts);
    if (this.#context.visitor !== null) this.#context.session.put(KEYS[facts.kind], made.text);
    return made;
  }

  #requestOf(kind: RequestKind, text?: unknown): MailRequest | null {
    const own = text ?? (this.#context.visitor === null ? null : this.#context.session.get(KEYS[kind]));
    const request = this.#service.codes.readRequest(own);
    return request?.kind === kind ? request : null;
  }

  /** The name of the guard whose accounts these are: that of the pages, or for tokens, the first one with the same users. */
  #guardOf(guard?: LoginGuard): string {
    const { auth } = this.#context;
    return guard === undefined ? auth.webGuard.name : auth.registry.rowsOf(guard.name);
  }

  /** @throws `E_UNAUTHENTICATED` */
  async #user(): Promise<AccountUser> {
    const user = await this.#context.auth.user();
    if (user === null) throw new AshlarError("E_UNAUTHENTICATED");
    return user as object as AccountUser;
  }
}
