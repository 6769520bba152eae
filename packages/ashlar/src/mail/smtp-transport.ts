import type { SMTPPoolOptions, SMTPPoolSentMessageInfo, Transporter } from "nodemailer";
import { ConfigurationError } from "../support/index.ts";
import type { MailMessage } from "./mail-message.ts";
import type { Delivery, MailTransport, MailTransportSource } from "./mail-transport.ts";
import { mimeOptions } from "./mime.ts";
import { readSmtp, type SmtpSettings, type SmtpTimeouts } from "./settings.ts";

/** A server that takes mails, as {@link smtp} and `MAIL.smtp` of `config/mail.ts` name it. */
export interface SmtpOptions {
  /** Its name, without scheme and port. */
  readonly host: string | undefined;
  /** 587 if it is left out, or 465 with `secure`. */
  readonly port?: number | undefined;
  /** Whether the connection is encrypted from its first byte; true if it is left out and the port is 465. */
  readonly secure?: boolean | undefined;
  /** Whether a server that does not offer encryption (STARTTLS) is refused; true if left out, unless it is on this machine. */
  readonly requireTls?: boolean | undefined;
  /** The name to log in by, with `password`; no login if both are left out. */
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** How many connections there are at most, 1 to 100, and so how many mails are sent at once; 5 if it is left out. */
  readonly poolSize?: number | undefined;
  /** How long a connection may take, 0.1 to 600 seconds each; 10 to connect and 60 idle if they are left out. */
  readonly timeouts?: Partial<SmtpTimeouts> | undefined;
}

type Pool = Transporter<SMTPPoolSentMessageInfo, SMTPPoolOptions>;

/** Delivers mails to an SMTP server, over a few connections that are kept open. */
export class SmtpTransport implements MailTransport {
  readonly #settings: SmtpSettings;
  #pool: Promise<Pool> | null = null;

  constructor(settings: SmtpSettings) {
    this.#settings = settings;
  }

  get concurrency(): number {
    return this.#settings.poolSize;
  }

  async deliver(message: MailMessage, { signal }: Pick<Delivery, "signal">): Promise<readonly string[]> {
    this.#pool ??= createPool(this.#settings);
    const { rejected } = await (await this.#pool).sendMail({ ...mimeOptions(message), signal });
    return rejected;
  }

  close(): void {
    void this.#pool?.then((pool) => pool.close({ force: true }));
    this.#pool = null;
  }
}

/**
 * Sends mails by an SMTP server: `transport: smtp({ host: env("SMTP_HOST"), … })` of `config/mail.ts`, in every environment.
 * `MAIL.smtp` names a server for production alone, and leaves the mailbox to development.
 *
 * @throws `E_INVALID_CONFIGURATION` at boot, if there is no host or a setting cannot work
 */
export function smtp(options: SmtpOptions): MailTransportSource {
  return () => {
    const settings = readSmtp(options, "config/mail.ts: smtp()");
    if (settings !== null) return new SmtpTransport(settings);
    const remedy = "Set SMTP_HOST in the environment, or write the name of the server.";
    throw new ConfigurationError("config/mail.ts: smtp()", "does not say host.", remedy);
  };
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
