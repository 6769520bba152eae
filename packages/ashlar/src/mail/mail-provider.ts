import { join } from "node:path";
import { Provider } from "../boot/index.ts";
import { ConfigurationError } from "../support/index.ts";
import { MailComposer } from "./mail-composer.ts";
import { MailLinks } from "./mail-links.ts";
import type { MailTransport } from "./mail-transport.ts";
import { MAILBOX_PREFIX, Mailbox, mailbox, useMailbox } from "./mailbox/mailbox.ts";
import { mailboxJson, mailboxSite } from "./mailbox/mailbox-site.ts";
import { offeredPreviews } from "./mailbox/previews.ts";
import { Mailer } from "./mailer.ts";
import { MemoryTransport, memoryTransport } from "./memory-transport.ts";
import { type CompleteMailSettings, isTransport, readMailSettings, requireFittingTransport } from "./settings.ts";
import { SmtpTransport } from "./smtp-transport.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** Sends mails. */
    mail: Mailer;
  }
}

declare module "../http/context.ts" {
  interface FrameworkContext {
    /** Sends mails. */
    readonly mail: Mailer;
  }
}

/**
 * Adds mail to the application, as configured by `MAIL` in `config/mail.ts`: by SMTP in production, to the mailbox at
 * `/dev/mailbox` in development, into memory in tests. It needs `ViewProvider`.
 */
export class MailProvider extends Provider {
  #mailer: Mailer | null = null;

  override register(): void {
    this.application.messages.declare({}, { de: () => import("./messages.de.ts") });
    this.application.container.singleton("mail", () => this.#start());
  }

  /** Invalid settings end the boot, even if no mail is ever sent. */
  override boot(): void {
    const mailer = this.application.container.make("mail");
    this.application.contextProperty("mail", () => mailer);
  }

  /** Sends queued mails first. */
  override async shutdown(): Promise<void> {
    const { shutdownTimeoutSeconds: seconds } = this.application.settings.server;
    // Before the application's own timeout, so that lost mails are logged.
    await this.#mailer?.close(Math.max(seconds - 1, seconds * 0.8));
  }

  #start(): Mailer {
    const { application } = this;
    const { container, config, settings: app, logger } = application;
    const settings = readMailSettings(config.optionalSection("mail", ["MAIL"]).MAIL, app);
    const composer = new MailComposer({
      views: container.make("views"),
      links: new MailLinks(
        () => application.url,
        () => application.router,
      ),
      messages: application.messages,
      from: settings.from,
      app: {
        name: app.name,
        get url() {
          return application.url;
        },
      },
    });
    const transport = this.#transport(settings);
    this.#mountMailbox(transport, composer);
    this.#mailer = new Mailer({
      composer,
      transport,
      retry: settings.retry,
      logger,
      background: application.background,
      events: container.has("events") ? container.make("events") : null,
    });
    return this.#mailer;
  }

  #transport(settings: CompleteMailSettings): MailTransport {
    const { container, environment } = this.application;
    const named = { smtp: () => new SmtpTransport(settings.smtp!), mailbox: mailbox(), memory: memoryTransport() };
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
    if (mailbox !== null) useMailbox(this.application.container, mailbox);
    const mailables = join(this.application.root, "app/mailables");
    const offered = () => offeredPreviews(this.application.container);
    this.application.mountDevelopmentTool(MAILBOX_PREFIX, mailboxSite({ mailbox, composer, mailables, offered }));
    this.application.mountDevelopmentTool(`${MAILBOX_PREFIX}.json`, mailboxJson(mailbox));
  }
}
