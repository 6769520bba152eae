import { isIP } from "node:net";
import { join } from "node:path";
import { type Feature, Provider } from "../boot/index.ts";
import { columnsOf } from "../database/index.ts";
import { ConfigurationError, isLoopbackHost, withoutBrackets } from "../support/index.ts";
import { composerOf, type MailComposer } from "./composing/mail-composer.ts";
import { MAIL } from "./feature.ts";
import { MAILBOX_PREFIX, Mailbox, mailbox, useMailbox } from "./mailbox/mailbox.ts";
import { mailboxJson, mailboxSite } from "./mailbox/mailbox-site.ts";
import { Outbox, type PromisedWork } from "./outbox/outbox.ts";
import { OutboxSeal } from "./outbox/outbox-seal.ts";
import type { MailSizes } from "./outbox/outbox-sizes.ts";
import { MAIL_OUTBOX_TABLE } from "./outbox/outbox-table.ts";
import { MailDelivery } from "./sending/mail-delivery.ts";
import { Mailer } from "./sending/mailer.ts";
import { type CompleteMailSettings, isTransport, readMailSettings, requireFittingTransport } from "./settings.ts";
import type { MailTransport } from "./transports/mail-transport.ts";
import { MemoryTransport, memoryTransport } from "./transports/memory-transport.ts";
import { SmtpTransport } from "./transports/smtp-transport.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** Sends mails. */
    mail: Mailer;
  }
}

declare module "../boot/monitoring/application-stats.ts" {
  interface FrameworkStats {
    /** The application's mails. */
    readonly mail?: {
      /** How many mails are waiting to be sent or retried. */
      readonly queued: number;
      /** How many mails the mail server has accepted. */
      readonly sent: number;
      /** How many mails will never be sent. Like `sent`, this needs `EventProvider`. */
      readonly failed: number;
      /** How many attempts have failed, whether or not they are retried. */
      readonly failedAttempts: number;
      /**
       * The contents of the outbox, for all processes together: how many mails wait to be sent, how many were abandoned
       * and are still kept, up to 10,000 of each priority, and how long ago the oldest waiting mail was queued. The numbers
       * are from the previous call, at most five minutes ago; `null` on the first call, without an outbox, or while the
       * database can't be read.
       */
      readonly outbox: MailSizes | null;
    };
  }
}

declare module "../http/exchange/context.ts" {
  interface FrameworkContext {
    /** Sends mails. */
    readonly mail: Mailer;
  }
}

/** The mails that features declare, by name: `ashlar/auth` adds those about accounts. */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that features can augment it.
export interface FeatureMails {}

declare module "../boot/application/feature.ts" {
  interface FrameworkFeatureParts {
    /**
     * Mails about accounts, by name. `ACCOUNTS.mailables` in `config/auth.ts` can replace their classes, and
     * `queueAccountMail` of `ashlar/auth` sends them:
     *
     * ```ts
     * declare module "ashlar/auth" { interface AccountMailMap { welcome: WelcomeData } }
     *
     * export class WelcomeProvider extends Provider {
     *   static override readonly feature: Feature = declareFeature({
     *     name: "welcome",
     *     accountMails: { welcome: WelcomeMail },
     *   });
     * }
     * ```
     *
     * A mail is created with its data from `AccountMailMap`. In development, `/dev/mailbox/preview` shows those with a
     * static `preview()`.
     */
    readonly accountMails?: FeatureMails;
  }
}

/**
 * Adds mail to the application, as configured by `MAIL` in `config/mail.ts`: by SMTP in production, to the mailbox at
 * `/dev/mailbox` in development, into memory in tests. It needs `ViewProvider`.
 */
export class MailProvider extends Provider {
  static override readonly feature: Feature = MAIL;
  #mailer: Mailer | null = null;
  #delivery: MailDelivery | null = null;
  #isOutboxWanted = false;

  override register(): void {
    this.application.container.singleton("mail", () => this.#start());
  }

  /** Creates the mailer, so that invalid settings fail startup even if no mail is ever sent. */
  override boot(): void {
    const mailer = this.application.container.make("mail");
    const counts = { sent: 0, failed: 0 };
    this.application.addStats("mail", () => ({
      queued: mailer.pending,
      ...counts,
      failedAttempts: this.#delivery?.failedAttempts ?? 0,
      outbox: mailer.outboxCounts.read(),
    }));
    const { container } = this.application;
    if (!container.has("events")) return;
    container.make("events").on("mail.sent", () => counts.sent++);
    container.make("events").on("mail.failed", () => counts.failed++);
  }

  /** Starts to send mails that other processes left behind. */
  override async listening(): Promise<void> {
    const { container, logger } = this.application;
    const outbox = await container.make("mail").outbox();
    if (outbox === null) {
      this.#warnOfMemory();
      return;
    }
    outbox.start();
    const { failed } = await outbox.sizes();
    if (failed > 0) logger.warn({ mails: failed }, "Mails could not be sent. List them with: npx ashlar mail:failed");
  }

  /**
   * Warns at a server's start, rather than when a mail is lost, that mails wait in memory. Commands don't warn: one of
   * them creates the table, and the others don't exit until their mails have been sent.
   */
  #warnOfMemory(): void {
    const { environment, logger } = this.application;
    if (!this.#isOutboxWanted || environment === "test") return;
    logger.warn(
      `Mails wait in memory until they are sent, because the database has no table ${MAIL_OUTBOX_TABLE}: a crash, or an ` +
        "outage of the mail server, loses them. Run npx ashlar migrate if a migration creates it; if none does, run npx " +
        "ashlar mail:install first. To keep mails in memory without this warning, set outbox: { enabled: false } in " +
        "config/mail.ts.",
    );
  }

  /**
   * Warns that mails aren't sent although `APP_URL` is public. This happens on a server where only the service's unit
   * file sets the environment, and a command runs without it.
   */
  #warnOfUnsentMails(): void {
    const { logger, settings } = this.application;
    if (settings.url === null || !isPublicSite(settings.url)) return;
    logger.warn(
      `Mails are not sent but kept or printed, because the application runs in development, although APP_URL is ${settings.url}. ` +
        "On a server, write APP_ENV=production into .env: commands read it there, and not from the unit of a service.",
    );
  }

  override async prune(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const outbox = await this.application.container.make("mail").outbox();
    return outbox === null ? {} : { "mails that could not be sent": await outbox.prune(signal) };
  }

  /** Sends queued mails first. */
  override async shutdown(seconds: number): Promise<Readonly<Record<string, number>>> {
    // Ends before the application's own timeout, so that lost mails are logged.
    return { mails: (await this.#mailer?.close(Math.max(seconds - 1, seconds * 0.8))) ?? 0 };
  }

  #start(): Mailer {
    const { application } = this;
    const { container, config, settings: app, logger } = application;
    const settings = readMailSettings(config.optionalSection("mail", ["MAIL"]).MAIL, app);
    this.#isOutboxWanted = settings.outbox.enabled && container.has("database");
    const composer = composerOf(application, settings.from);
    const transport = this.#transport(settings);
    this.#mountMailbox(transport, composer);
    const events = container.has("events") ? container.make("events") : null;
    const delivery = new MailDelivery(transport, logger, events);
    this.#delivery = delivery;
    this.#mailer = new Mailer({
      composer,
      transport,
      delivery,
      retry: settings.retry,
      background: application.background,
      findOutbox: this.#isOutboxWanted ? (promises) => this.#findOutbox(settings, delivery, promises) : null,
    });
    return this.#mailer;
  }

  async #findOutbox(
    { outbox: settings, retry }: CompleteMailSettings,
    sender: MailDelivery,
    promises: ReadonlyMap<string, PromisedWork>,
  ): Promise<Outbox | null> {
    const { background, container, logger, settings: app } = this.application;
    const database = container.make("database");
    const columns = await columnsOf(database.connection(), MAIL_OUTBOX_TABLE);
    if (columns.size === 0) return null;
    const hasPriority = columns.has("priority");
    const seal = new OutboxSeal(app.key, { previousSecrets: app.previousKeys });
    const { delaySeconds } = retry;
    return new Outbox({ database, hasPriority, seal, settings, delaySeconds, sender, background, logger }, promises);
  }

  #transport(settings: CompleteMailSettings): MailTransport {
    const { container, environment, root } = this.application;
    const named = {
      smtp: () => new SmtpTransport(settings.smtp!, root),
      mailbox: mailbox(),
      memory: memoryTransport(),
    };
    const source = typeof settings.transport === "string" ? named[settings.transport] : settings.transport;
    const transport = typeof source === "function" ? source(container) : source;
    if (!isTransport(transport)) {
      const remedy = "Return an object with the methods of MailTransport.";
      throw new ConfigurationError(
        "config/mail.ts: MAIL.transport",
        "is a function that did not return a transport.",
        remedy,
      );
    }
    if (transport instanceof Mailbox) requireFittingTransport("mailbox", environment);
    if (transport instanceof MemoryTransport) requireFittingTransport("memory", environment);
    return transport;
  }

  #mountMailbox(transport: MailTransport, composer: MailComposer): void {
    const mailbox = transport instanceof Mailbox ? transport : null;
    if (mailbox !== null) {
      useMailbox(this.application.container, mailbox);
      this.#warnOfUnsentMails();
    }
    const mailables = join(this.application.root, "app/mailables");
    const offered = () => this.application.features.flatMap(({ feature }) => Object.values(feature.accountMails ?? {}));
    const prefix = this.application.settings.basePath + MAILBOX_PREFIX;
    this.application.mountDevelopmentTool(
      MAILBOX_PREFIX,
      mailboxSite({ mailbox, composer, mailables, offered, prefix }),
    );
    this.application.mountDevelopmentTool(`${MAILBOX_PREFIX}.json`, mailboxJson(mailbox));
  }
}

/** Host names that can't be resolved publicly (RFC 6761, RFC 6762, RFC 8375, and the reserved `internal`). */
const PRIVATE_NAME = /\.(?:test|invalid|local|internal|home\.arpa)$/;

/**
 * Returns whether a URL belongs to a public site: https, and a publicly resolvable host name.
 *
 * @param url a valid URL
 */
export function isPublicSite(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  if (protocol !== "https:" || isLoopbackHost(hostname) || isIP(withoutBrackets(hostname)) !== 0) return false;
  return hostname.includes(".") && !PRIVATE_NAME.test(hostname);
}
