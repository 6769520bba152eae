import type { Application } from "../../../boot/index.ts";
import type { Container, Logger } from "../../../kernel/index.ts";
import type { Mailer } from "../../../mail/index.ts";
import { ConfigurationError } from "../../../support/index.ts";
import { accountDigest, type LimitName } from "../../../throttle/index.ts";
import type { NewDeviceEvent } from "../../events.ts";
import { deviceName } from "../../logins/devices.ts";
import { type Authenticatable, awaitsVerification, isClosed, userClassOf } from "../../users/authenticatable.ts";
import { NEW_DEVICE_LIMIT } from "../limits.ts";
import type { AccountPages } from "../links/account-pages.ts";
import type { AccountMailRegistry } from "./account-mail-registry.ts";
import type {
  AccountMailableClass,
  AccountMailables,
  AccountMailMap,
  AccountMailName,
  QueuedMailData,
} from "./account-mailables.ts";
import type * as BuiltInMails from "./built-in-mails.ts";

/** The dependencies of {@link AccountMails}. */
export interface AccountMailsDependencies {
  readonly application: Application;
  readonly container: Container;
  /** The application's own mails. */
  readonly mailables: AccountMailables;
  /** The mails that features declare. */
  readonly declared: AccountMailRegistry;
  readonly pages: AccountPages;
  readonly remainingTokens: RemainingTokenSource;
}

/** Queues account mails: the application's own, or plain ones instead. */
export class AccountMails {
  readonly #dependencies: AccountMailsDependencies;
  readonly #logger: Logger;
  #builtIn: typeof BuiltInMails | null = null;

  constructor(dependencies: AccountMailsDependencies) {
    this.#dependencies = dependencies;
    this.#logger = dependencies.container.make("logger");
  }

  /** Reports whether the application has its own mail with this name. */
  has(name: AccountMailName): boolean {
    return typeof this.#dependencies.mailables[name] === "function";
  }

  /** Reports whether the application sends mails at all. */
  get areSent(): boolean {
    return this.#dependencies.container.has("mail");
  }

  /**
   * Makes sure that mails can be queued before making a change that requires a mail.
   *
   * @returns the mailer that queues them
   * @throws `E_INVALID_CONFIGURATION` if the application has no mail
   */
  async prepare(): Promise<Mailer> {
    if (!this.areSent) {
      const problem = "lacks MailProvider, and this operation sends a mail.";
      const remedy = 'Add it: import { MailProvider } from "ashlar/mail".';
      throw new ConfigurationError("config/providers.ts: PROVIDERS", problem, remedy);
    }
    // Loaded here, so that applications without accounts don't load the code for sending mails.
    this.#builtIn ??= await import("./built-in-mails.ts");
    return this.#dependencies.container.make("mail");
  }

  /**
   * Queues a mail, after {@link prepare}; in a transaction, with that. See `Mailer.queue`. Nothing is sent about an account
   * that is closed, or to a blank address.
   */
  async queue<N extends AccountMailName>(
    name: N,
    to: string,
    queued: QueuedMailData<N>,
    mailer?: Mailer,
  ): Promise<void> {
    const { guard, language: visitors = null, ...data } = queued;
    // The account was closed before the mail was composed, so its owner must get no more mails.
    if (isClosed(data.user)) return;
    // If the column isn't nullable, an account without an address has an empty text there.
    if (to.trim() === "") return;
    const { application, container, declared, mailables, pages, remainingTokens } = this.#dependencies;
    const mailable = (mailables[name] ??
      declared.get(name) ??
      (this.#builtIn!.BUILT_IN_MAILS as AccountMailables)[name]) as AccountMailableClass<AccountMailMap[N]>;
    const complete = {
      ...data,
      remainingTokens: remainingTokens.of(data.user.constructor),
      newPasswordUrl: pages.urlIfAny(guard, "change_password"),
    } as unknown as AccountMailMap[N];
    const mail = new mailable(complete);
    const language = container.make("messages").ofUser(data.user) ?? visitors;
    if (language !== null) mail.inLanguage(language);
    const sender = mailer ?? container.make("mail");
    // The application's own mails may create their links themselves.
    const account = { guard, id: String((data.user as Authenticatable).authId()) };
    await application.linkOrigin.underSite(() => sender.queue(mail, to, { account }));
  }

  /**
   * Mails users about logins on new devices, if the application has such a mail. The login's response doesn't wait for
   * the mail to be composed. Called when providers boot.
   */
  mailNewDevices(limits: MailLimits): void {
    const { application, container } = this.#dependencies;
    if (!this.has("newDevice") || !container.has("events")) return;
    container.make("events").on("auth.new_device", (event) => {
      application.background.run("a mail about a new device", () => this.#mailNewDevice(limits, event));
    });
  }

  /**
   * The mail goes only to a verified address, if the model tracks that, and the number of mails per mailbox is limited,
   * because anyone can register an account with someone else's address and log in to it any number of times.
   */
  async #mailNewDevice(limits: MailLimits, event: NewDeviceEvent): Promise<void> {
    const { guard, user, userAgent, address, time } = event;
    const { messages } = this.#dependencies.application;
    const { email } = user as { readonly email: string | null };
    if (email === null || awaitsVerification(user)) return;
    if (!(await limits.allows(NEW_DEVICE_LIMIT, guard, email))) return;
    await this.prepare();
    // This is in the mail's language, not the request's, because an attacker may have logged in.
    const device = deviceName(userAgent, messages.translator(messages.ofUser(user) ?? messages.defaultLanguage));
    await this.tryQueue("newDevice", email, { guard, user, email, device, userAgent, address, loggedInAt: time });
  }

  /**
   * Queues a mail whose failure must not fail the operation: a password stays changed, whether or not the user can be
   * notified, and a failure must not reveal whether an address has an account.
   */
  async tryQueue<N extends AccountMailName>(name: N, to: string, data: QueuedMailData<N>): Promise<void> {
    try {
      await this.queue(name, to, data);
    } catch (error) {
      this.#logger.error({ err: error, mail: name }, "A mail about an account could not be queued.");
    }
  }
}

/**
 * API tokens that stay valid after everything else about an account has ended: requests don't look them up in the
 * database, so only time, or a change of configuration for all users, ends them.
 */
export interface RemainingTokens {
  /** How long the last of them can still be used, in minutes; `null` if they don't expire. */
  readonly expiresInMinutes: number | null;
}

/** Returns which API tokens a model's users keep when their access ends; `null` for none. */
export type RemainingTokensOf = (model: object) => RemainingTokens | null;

/**
 * Finds out which API tokens stay valid when a user's access ends. The API sets this, because it starts after accounts.
 */
export class RemainingTokenSource {
  #of: RemainingTokensOf = () => null;

  /** Sets the function that determines them; before that, none remain. */
  use(remainingTokensOf: RemainingTokensOf): void {
    this.#of = remainingTokensOf;
  }

  /** The API tokens that a model's users keep when their access ends; `null` for none. */
  of(model: object): RemainingTokens | null {
    return this.#of(userClassOf(model));
  }
}

/**
 * Limits, by recipient, the mails that strangers can trigger. Several models may have accounts with the same address.
 */
export class MailLimits {
  readonly #container: Container;

  /** @param container has the application's limits, if there are any */
  constructor(container: Container) {
    this.#container = container;
  }

  /**
   * Counts a mail.
   *
   * @param limit the name of the limit
   * @returns whether it may be sent
   */
  async allows(limit: LimitName, guard: string, email: string): Promise<boolean> {
    if (!this.#container.has("throttle")) return true;
    const { allowed, buckets } = await this.#container.make("throttle").consume(limit, { account: email });
    if (buckets.some(({ isFirstRefusal }) => isFirstRefusal)) {
      const dropped = { guard, limit, account: accountDigest(email) };
      const sentence = "Mails to an address are dropped: there were too many under this limit.";
      this.#container.make("logger").warn(dropped, sentence);
    }
    return allowed;
  }
}
