import type { LoginResult } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { declareKeyPurpose, digest, type KeyPurpose, normalizeEmail, Signer } from "../../security/index.ts";
import { AshlarError, ConfigurationError, type FieldErrors, ValidationError } from "../../support/index.ts";
import { PasskeyRegistrationMail } from "../mails.ts";
import { message } from "../messages.ts";
import type { PasskeyService } from "../passkey-service.ts";
import { newUserHandle, PASSKEY } from "../stored/passkey-store.ts";
import { newPasskey } from "./new-passkey.ts";
import { type CreationOptions, creationOptions, namesOf } from "./passkey-options.ts";
import { amrOf } from "./verified-passkey.ts";
import "../../auth/index.ts";

/** The purpose that links to registrations are signed for. */
export const REGISTRATION_KEY: KeyPurpose = declareKeyPurpose("passkey-registration");

/** How long a link works. */
const LINK_MINUTES = 60;
const MAX_TEXT = 255;

/** The page behind the link. */
const FINISH_PAGE = "passkeys.register.finish";

/** Someone who has asked for an account, and has proved to own the address. */
export interface PasskeyNewcomer {
  readonly email: string;
  readonly [attribute: string]: string;
}

/** Accounts that have a passkey and no password. The address is proved by a mailed link before there is an account. */
export class PasskeyRegistration {
  readonly #context: HttpContext;
  readonly #application: Application;
  readonly #service: PasskeyService;

  constructor(context: HttpContext, application: Application, service: PasskeyService) {
    this.#context = context;
    this.#application = application;
    this.#service = service;
  }

  /** See `RequestPasskeys.requestRegistration`. */
  async request(attributes: Readonly<Record<string, unknown>>): Promise<void> {
    const newcomer = newcomerFrom(attributes);
    const { background, container } = this.#application;
    if (!container.has("mail")) {
      const problem = "lacks MailProvider, and registering with a passkey sends a mail.";
      const remedy = 'Add it: import { MailProvider } from "ashlar/mail".';
      throw new ConfigurationError("config/providers.ts: PROVIDERS", problem, remedy);
    }
    const guard = this.#guard;
    const { language } = this.#context;
    // Whether there is an account must not show in the time that the response takes, nor in that of the next one.
    background.runUnpredictably("a registration with a passkey", () => this.#mail(guard, newcomer, language));
  }

  /** See `RequestPasskeys.findRegistration`. */
  async find(token: unknown): Promise<PasskeyNewcomer | null> {
    const signed = typeof token === "string" ? this.#signer.verify(token) : null;
    if (signed === null) return null;
    const [guard, newcomer] = JSON.parse(signed) as [string, PasskeyNewcomer];
    if (guard !== this.#guard) return null;
    return (await this.#isTaken(guard, newcomer.email)) ? null : newcomer;
  }

  /** See `RequestPasskeys.registrationOptions`. */
  async options(token: unknown): Promise<CreationOptions> {
    const newcomer = await this.#newcomer(token);
    const facts = { purpose: "register", subject: subjectOf(token), userHandle: newUserHandle() } as const;
    return creationOptions(this.#context, this.#service, facts, [], namesOf(newcomer));
  }

  /** See `RequestPasskeys.register`. */
  async complete(token: unknown, options: { readonly remember?: boolean }): Promise<LoginResult> {
    const context = this.#context;
    const newcomer = await this.#newcomer(token);
    const { made, facts } = await newPasskey(context, this.#service, ["register"], subjectOf(token), null);
    const user = await context.accounts.create({ ...newcomer, provedBy: PASSKEY }, async (account) => {
      const added = await this.#service.store.add(account, made, facts);
      if (added === null || added === "known") throw new ValidationError({ credential: [message("passkeys.known")] });
      const event = { guard: this.#guard, user: account, passkeyId: added.id, name: facts.name };
      this.#service.notices.emit("passkeys.added", context, event);
    });
    if (user === null) throw new AshlarError("E_INVALID_LINK");
    // The authenticator has verified its user.
    const amr = amrOf({ isUserVerified: true, isSynced: made.isSynced });
    return context.auth.webGuard.enter(user, { ...options, by: PASSKEY, amr, firstLogin: true });
  }

  async #newcomer(token: unknown): Promise<PasskeyNewcomer> {
    const newcomer = await this.find(token);
    if (newcomer === null) throw new AshlarError("E_INVALID_LINK");
    return newcomer;
  }

  async #mail(guard: string, newcomer: PasskeyNewcomer, language: string): Promise<void> {
    const { container } = this.#application;
    const { mailLimits, mails, pages, users } = container.make("accounts");
    const { email } = newcomer;
    if (await this.#isTaken(guard, email)) {
      const user = await users.of(guard).findByEmail(email);
      if (user === null || !(await mailLimits.allows("email_taken", guard, email))) return;
      await mails.prepare();
      const loginUrl = pages.urlIfAny(guard, "login");
      return mails.tryQueue("emailTaken", email, { guard, user, email, isChange: false, loginUrl });
    }
    const token = this.#signer.sign(JSON.stringify([guard, newcomer]), { expiresInSeconds: LINK_MINUTES * 60 });
    const url = pages.url(guard, FINISH_PAGE, { token });
    const mail = new PasskeyRegistrationMail({ url, expiresInMinutes: LINK_MINUTES }).inLanguage(language);
    await container.make("mail").queue(mail, email);
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
    return new Signer(key, REGISTRATION_KEY, { previousSecrets });
  }
}

/** Names a registration in a challenge. */
function subjectOf(token: unknown): string {
  return digest(`registration ${token}`);
}

/** @throws `E_INVALID_INPUT` if the address or the name can't be one */
function newcomerFrom({ email: address, name, ...rest }: Readonly<Record<string, unknown>>): PasskeyNewcomer {
  const errors: FieldErrors = {};
  const email = typeof address === "string" ? normalizeEmail(address) : null;
  if (email === null) errors.email = [message("passkeys.emailInvalid")];
  const isName = isText(name) && name.trim() !== "" && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name);
  if (name !== undefined && !isName) errors.name = [message("passkeys.newNameInvalid")];
  if (Object.keys(errors).length > 0) throw new ValidationError(errors);
  const texts = Object.entries({ name, ...rest }).filter((entry): entry is [string, string] => isText(entry[1]));
  return { ...Object.fromEntries(texts), email: email! };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT && value.isWellFormed();
}
