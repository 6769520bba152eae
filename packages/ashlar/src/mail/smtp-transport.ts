import type { SMTPPoolOptions, SMTPPoolSentMessageInfo, Transporter } from "nodemailer";
import type { MailMessage } from "./mail-message.ts";
import type { MailTransport } from "./mail-transport.ts";
import type { Mailable } from "./mailable.ts";
import { mimeOptions } from "./mime.ts";
import type { SmtpSettings } from "./settings.ts";

type Pool = Transporter<SMTPPoolSentMessageInfo, SMTPPoolOptions>;

/** Delivers mails to an SMTP server, over a few connections that are kept open. */
export class SmtpTransport implements MailTransport {
  readonly #settings: SmtpSettings;
  #pool: Promise<Pool> | null = null;

  constructor(settings: SmtpSettings) {
    this.#settings = settings;
  }

  async deliver(message: MailMessage, _: Mailable, signal: AbortSignal): Promise<readonly string[]> {
    this.#pool ??= createPool(this.#settings);
    const { rejected } = await (await this.#pool).sendMail({ ...mimeOptions(message), signal });
    return rejected;
  }

  close(): void {
    void this.#pool?.then((pool) => pool.close({ force: true }));
    this.#pool = null;
  }
}

async function createPool(settings: SmtpSettings): Promise<Pool> {
  // Loaded with the first mail: an application that sends none starts without it.
  const { createTransport } = await import("nodemailer");
  const { host, port, secure, requireTls, user, password, poolSize, timeouts } = settings;
  return createTransport({
    pool: true,
    host,
    port,
    secure,
    requireTLS: requireTls,
    ...(user === null || password === null ? {} : { auth: { user, pass: password } }),
    maxConnections: poolSize,
    // One more try covers a connection that the server had closed meanwhile. Trying again is otherwise the queue's.
    maxRequeues: 1,
    connectionTimeout: timeouts.connectSeconds * 1000,
    dnsTimeout: timeouts.connectSeconds * 1000,
    greetingTimeout: timeouts.connectSeconds * 1000,
    socketTimeout: timeouts.idleSeconds * 1000,
  });
}
