import type { Application } from "../../../boot/index.ts";
import type { HttpContext } from "../../../http/index.ts";
import type { Mailable } from "../../../mail/index.ts";
import { type KeyPurpose, Signer } from "../../../security/index.ts";
import { AshlarError, type FieldErrors, type RegisteredUser } from "../../../support/index.ts";
import { checkEmail, checkName, refuse } from "../users/account-input.ts";
import type { RegistrationWork } from "./registration.ts";
import "../../errors.ts";

/** How long a link works. */
const LINK_MINUTES = 60;
const MAX_TEXT = 255;

/** Someone who has asked for an account, and has proved to own the address. */
export interface Newcomer {
  readonly email: string;
  readonly [attribute: string]: string;
}

/** The data of the mail with the link. */
export interface RegistrationMailData {
  /** The link. Anyone who has it can use it. */
  readonly url: string;
  readonly expiresInMinutes: number;
}

/** What a feature decides about its registrations. */
export interface MailedRegistrationOptions {
  /** The purpose that its links are signed for. */
  readonly keyPurpose: KeyPurpose;
  /** The page behind its links, by name. */
  readonly page: string;
  /** The name of the proof that its accounts begin with. */
  readonly proof: string;
  /** Describes its work in the log. */
  readonly title: string;
  readonly mail: (data: RegistrationMailData) => Mailable;
}

/**
 * Accounts without a password. The address is proved by a mailed link before there is an account, so nothing is stored about
 * people who don't follow it.
 */
export class MailedRegistration {
  readonly #context: HttpContext;
  readonly #application: Application;
  readonly #options: MailedRegistrationOptions;

  constructor(context: HttpContext, application: Application, options: MailedRegistrationOptions) {
    this.#context = context;
    this.#application = application;
    this.#options = options;
  }

  /**
   * Mails the link, or if an account has the address, a notice to its owner. That happens after the response, whose time
   * doesn't reveal which.
   *
   * @param attributes the address, and values for other columns: texts
   * @throws `E_INVALID_INPUT` if the address or the name can't be one; `E_INVALID_CONFIGURATION` without `MailProvider`
   */
  async request(attributes: Readonly<Record<string, unknown>>): Promise<void> {
    const newcomer = newcomerFrom(attributes);
    const { background, container } = this.#application;
    await container.make("accounts").mails.prepare();
    const guard = this.#guard;
    const { language } = this.#context;
    background.runUnpredictably(this.#options.title, () => this.#mail(guard, newcomer, language));
  }

  /** Mails the link to an address without an account. */
  async mailLink(guard: string, newcomer: Newcomer, language: string): Promise<void> {
    const { container } = this.#application;
    const token = this.#signer.sign(JSON.stringify([guard, newcomer]), { expiresInSeconds: LINK_MINUTES * 60 });
    const url = container.make("accounts").pages.url(guard, this.#options.page, { token });
    const mail = this.#options.mail({ url, expiresInMinutes: LINK_MINUTES }).inLanguage(language);
    await container.make("mail").queue(mail, newcomer.email);
  }

  /**
   * Reads a link. Changes nothing.
   *
   * @returns `null` if the token is not valid or has expired, or an account has the address by now
   */
  async find(token: unknown): Promise<Newcomer | null> {
    const signed = typeof token === "string" ? this.#signer.verify(token) : null;
    if (signed === null) return null;
    const [guard, newcomer] = JSON.parse(signed) as [string, Newcomer];
    if (guard !== this.#guard) return null;
    return (await this.#isTaken(guard, newcomer.email)) ? null : newcomer;
  }

  /**
   * Reads a link as {@link find}.
   *
   * @throws `E_INVALID_LINK` if it returns `null`
   */
  async require(token: unknown): Promise<Newcomer> {
    const newcomer = await this.find(token);
    if (newcomer === null) throw new AshlarError("E_INVALID_LINK");
    return newcomer;
  }

  /**
   * Makes the account of a link. Its address counts as verified.
   *
   * @param newcomer as {@link require} returns it
   * @param attributes values for columns that the link doesn't have
   * @param belonging further work in the same transaction
   * @throws `E_INVALID_LINK` if an account has the address by now; `E_INVALID_INPUT`
   */
  async create(
    newcomer: Newcomer,
    attributes: Readonly<Record<string, unknown>>,
    belonging?: RegistrationWork,
  ): Promise<RegisteredUser> {
    const own = { ...attributes, ...newcomer, provedBy: this.#options.proof };
    const user = await this.#context.accounts.create(own, belonging);
    if (user === null) throw new AshlarError("E_INVALID_LINK");
    return user;
  }

  async #mail(guard: string, newcomer: Newcomer, language: string): Promise<void> {
    const { mailLimits, mails, pages, users } = this.#application.container.make("accounts");
    const { email } = newcomer;
    if (!(await this.#isTaken(guard, email))) return this.mailLink(guard, newcomer, language);
    const user = await users.of(guard).findByEmail(email);
    if (user === null || !(await mailLimits.allows("email_taken", guard, email))) return;
    await mails.prepare();
    const loginUrl = pages.urlIfAny(guard, "login");
    await mails.tryQueue("emailTaken", email, { guard, user, email, isChange: false, loginUrl });
  }

  /** Whether another account has the address, except one that no one could log in to, which `accounts.create` replaces. */
  async #isTaken(guard: string, email: string): Promise<boolean> {
    const { settings, users } = this.#application.container.make("accounts");
    const owner = await users.of(guard).findByEmail(email);
    return owner !== null && !(settings.preventEnumeration && owner.hasVerifiedEmail?.() === false);
  }

  get #guard(): string {
    return this.#context.auth.webGuard.name;
  }

  get #signer(): Signer {
    const { key, previousKeys: previousSecrets } = this.#application.settings;
    return new Signer(key, this.#options.keyPurpose, { previousSecrets });
  }
}

/** @throws `E_INVALID_INPUT` if the address or the name can't be one */
function newcomerFrom({ email: address, name, ...rest }: Readonly<Record<string, unknown>>): Newcomer {
  const errors: FieldErrors = {};
  const { problem, value: email } = checkEmail(address);
  if (problem !== undefined) errors.email = [problem];
  const ofName = name === undefined ? undefined : checkName(name).problem;
  if (ofName !== undefined) errors.name = [ofName];
  refuse(errors);
  const texts = Object.entries({ name, ...rest }).filter((entry): entry is [string, string] => isText(entry[1]));
  return { ...Object.fromEntries(texts), email: email! };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT && value.isWellFormed();
}
