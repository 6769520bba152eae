import type {
  SendMailOptions,
  SMTPPoolOptions,
  SMTPPoolSentMessageInfo,
  SMTPTransportOptions,
  Transporter,
} from "nodemailer";
import type { Container } from "../kernel/index.ts";
import { ConfigurationError, certificateRemedy, readPem } from "../support/index.ts";
import type { MailMessage } from "./mail-message.ts";
import type { Delivery, MailTransport } from "./mail-transport.ts";
import { mimeOptions } from "./mime.ts";
import { type CompleteSmtpSettings, readSmtpSettings, type SmtpSettings } from "./settings.ts";

type Pool = Transporter<SMTPPoolSentMessageInfo, SMTPPoolOptions>;

interface TransmittedMail extends SendMailOptions {
  /** Called when the whole mail was handed to the connection. */
  readonly onTransmitted: () => void;
}

interface SmtpConnection extends CompleteSmtpSettings {
  /** Names the settings in errors. */
  readonly where: string;
  /** `null` for those of Node.js. */
  readonly authorities: string | null;
}

/** Delivers mails to an SMTP server, over a few connections that are kept open. */
export class SmtpTransport implements MailTransport {
  readonly #settings: SmtpConnection;
  #pool: Promise<Pool> | null = null;

  /**
   * @param root what the file of `ca` is relative to
   * @param where names the settings in errors
   * @throws `E_INVALID_CONFIGURATION` if the file of `ca` can't be read, or has no certificate
   */
  constructor(settings: CompleteSmtpSettings, root = ".", where = "config/mail.ts: MAIL.smtp") {
    const authorities =
      settings.ca === null ? null : readPem(settings.ca, "certificate", { root, where: `${where}.ca` });
    this.#settings = { ...settings, where, authorities };
  }

  get concurrency(): number {
    return this.#settings.poolSize;
  }

  async deliver(message: MailMessage, { signal }: Pick<Delivery, "signal">): Promise<readonly string[]> {
    this.#pool ??= createPool(this.#settings);
    const pool = await this.#pool;
    let isTransmitted = false;
    const mail: TransmittedMail = { ...mimeOptions(message), signal, onTransmitted: () => (isTransmitted = true) };
    try {
      return (await pool.sendMail(mail)).rejected;
    } catch (error) {
      explainCertificate(error, this.#settings.where);
      if (isTransmitted && error instanceof Error && !("responseCode" in error)) {
        // RFC 5321 §6.1: the server may have accepted it, and only its response was lost.
        Object.assign(error, { mayHaveArrived: true });
      }
      throw error;
    }
  }

  /** Greets the server, encrypts the connection if it has to be, and logs in. */
  async check(): Promise<void> {
    const { createTransport } = await import("nodemailer");
    const once = createTransport(connectionOptions(this.#settings));
    try {
      await once.verify();
    } catch (error) {
      explainCertificate(error, this.#settings.where);
      throw error;
    } finally {
      once.close();
    }
  }

  close(): void {
    void this.#pool?.then((pool) => pool.close({ force: true }));
    this.#pool = null;
  }
}

/**
 * Sends mails through an SMTP server in every environment: `transport: smtp({ host: env("SMTP_HOST"), … })` in
 * `config/mail.ts`. `MAIL.smtp` sets a server only for production; development then keeps the mailbox.
 *
 * @throws `E_INVALID_CONFIGURATION` at boot, if there is no host or a setting is invalid
 */
export function smtp(server: SmtpSettings): (container: Container) => MailTransport {
  return (container) => {
    const settings = readSmtpSettings(server, "config/mail.ts: smtp()");
    if (settings !== null)
      return new SmtpTransport(settings, container.make("application").root, "config/mail.ts: smtp()");
    const remedy = "Set SMTP_HOST in the environment, or set host to the server's name.";
    throw new ConfigurationError("config/mail.ts: smtp()", "has no host.", remedy);
  };
}

async function createPool(settings: SmtpConnection): Promise<Pool> {
  // Loaded with the first mail, so that applications that don't send any start without it.
  const { createTransport } = await import("nodemailer");
  const pool = createTransport({
    ...connectionOptions(settings),
    pool: true,
    maxConnections: settings.poolSize,
    // One more attempt covers a connection that the server has closed. All other retries are up to the queue.
    maxRequeues: 1,
  });
  pool.use("stream", (mail, done) => {
    const { onTransmitted } = mail.data as TransmittedMail;
    mail.message!.processFunc((content) => content.once("end", onTransmitted));
    done();
  });
  return pool;
}

function connectionOptions(settings: SmtpConnection): SMTPTransportOptions {
  const { host, port, secure, requireTls, servername, authorities: ca, user, password, timeouts } = settings;
  return {
    host,
    port,
    secure,
    requireTLS: requireTls,
    // Security: NODE_TLS_REJECT_UNAUTHORIZED=0, which someone may have set for another server, doesn't count.
    tls: { rejectUnauthorized: true, ...(ca !== null && { ca }), ...(servername !== null && { servername }) },
    ...(user === null || password === null ? {} : { auth: { user, pass: password } }),
    // It limits the lookup of the host's address as well.
    connectionTimeout: timeouts.connectSeconds * 1000,
    greetingTimeout: timeouts.connectSeconds * 1000,
    socketTimeout: timeouts.idleSeconds * 1000,
  };
}

/** Adds the setting to the message of an error about the server's certificate. */
function explainCertificate(error: unknown, where: string): void {
  if (error instanceof Error) error.message += certificateRemedy(error, where);
}
