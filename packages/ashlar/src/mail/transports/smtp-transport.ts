import type {
  SendMailOptions,
  SMTPPoolOptions,
  SMTPPoolSentMessageInfo,
  SMTPTransportOptions,
  Transporter,
} from "nodemailer";
import type { Container } from "../../kernel/index.ts";
import { ConfigurationError, certificateRemedy, readPem } from "../../support/index.ts";
import type { MailMessage } from "../message/mail-message.ts";
import { mimeOptions } from "../message/mime.ts";
import type { Delivery, MailTransport } from "./mail-transport.ts";
import { type CompleteSmtpSettings, readSmtpSettings, type SmtpSettings } from "./smtp-settings.ts";

type Pool = Transporter<SMTPPoolSentMessageInfo, SMTPPoolOptions>;

/** The progress of an attempt to send a mail. */
interface Progress {
  /** The pool's current step: nothing yet, getting an authenticated connection, or sending the mail over it. */
  stage: "composing" | "connecting" | "sending";
  /** Whether the complete mail was written to the connection. */
  isTransmitted: boolean;
}

interface TrackedMail extends SendMailOptions {
  readonly progress: Progress;
}

interface SmtpConnection extends CompleteSmtpSettings {
  /** The name of the settings, for errors. */
  readonly where: string;
  /** `null` for those that Node.js trusts. */
  readonly authorities: string | null;
}

/** Delivers mails to an SMTP server, over a few connections that are kept open. */
export class SmtpTransport implements MailTransport {
  readonly #settings: SmtpConnection;
  #pool: Promise<Pool> | null = null;

  /**
   * @param root the folder that the path in `ca` is relative to
   * @param where the name of the settings, for errors
   * @throws `E_INVALID_CONFIGURATION` if the file in `ca` can't be read, or has no certificate
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
    const pool = this.#pool;
    try {
      return await this.#attempt(pool, message, signal);
    } catch (error) {
      // Tries once more if the server had closed the connection. All other retries are up to the queue.
      if (!isClosedConnection(error) || this.#pool !== pool || signal.aborted) throw error;
      return await this.#attempt(pool, message, signal);
    }
  }

  async #attempt(pool: Promise<Pool>, message: MailMessage, signal: AbortSignal): Promise<readonly string[]> {
    const progress: Progress = { stage: "composing", isTransmitted: false };
    const mail: TrackedMail = { ...mimeOptions(message), signal, progress };
    try {
      return (await (await pool).sendMail(mail)).rejected;
    } catch (error) {
      explainCertificate(error, this.#settings.where);
      if (!(error instanceof Error)) throw error;
      // A failure before the mail is sent is about the server or the settings: a proxy that accepts connections for a
      // server that is down, a reset during the TLS handshake, an expired certificate, a refused login. This doesn't
      // apply if we ended the connection ourselves.
      if (progress.stage === "connecting" && this.#pool === pool && !signal.aborted) {
        Object.assign(error, { isUnreachable: true });
        if (isClosedConnection(error)) error.message = "The mail server closed the connection before its greeting.";
      }
      // The server may have accepted the mail, and only its response was lost (RFC 5321 §6.1).
      if (progress.isTransmitted && !("responseCode" in error)) Object.assign(error, { mayHaveArrived: true });
      throw error;
    }
  }

  /** Connects, encrypts the connection if necessary, and logs in. */
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
 * `config/mail.ts`. To use a server only in production, and the mailbox in development, set `MAIL.smtp` instead.
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
  // Loaded with the first mail, so that applications that don't send mails start without it.
  const { createTransport } = await import("nodemailer");
  const pool = createTransport({
    ...connectionOptions(settings),
    pool: true,
    maxConnections: settings.poolSize,
    // The transport retries by itself, because only the last attempt shows whether the server can be reached.
    maxRequeues: 0,
  });
  pool.use("stream", (mail, done) => {
    const { progress } = mail.data as TrackedMail;
    progress.stage = "connecting";
    // The mail is read once a connection is logged in.
    mail.message!.processFunc((content) => {
      progress.stage = "sending";
      return content.once("end", () => (progress.isTransmitted = true));
    });
    done();
  });
  return pool;
}

/**
 * Whether a connection of the pool was closed without an error: before the greeting, or before another mail was sent.
 */
function isClosedConnection(error: unknown): boolean {
  const { code, command } = Object(error) as { readonly code?: unknown; readonly command?: unknown };
  return code === "ECONNECTION" && command === undefined;
}

function connectionOptions(settings: SmtpConnection): SMTPTransportOptions {
  const { host, port, secure, requireTls, servername, authorities: ca, user, password, timeouts } = settings;
  return {
    host,
    port,
    secure,
    requireTLS: requireTls,
    // Security: overrides NODE_TLS_REJECT_UNAUTHORIZED=0, which may have been set for another server.
    tls: { rejectUnauthorized: true, ...(ca !== null && { ca }), ...(servername !== null && { servername }) },
    ...(user === null || password === null ? {} : { auth: { user, pass: password } }),
    // This also limits the DNS lookup.
    connectionTimeout: timeouts.connectSeconds * 1000,
    greetingTimeout: timeouts.connectSeconds * 1000,
    socketTimeout: timeouts.idleSeconds * 1000,
  };
}

/** Adds the setting to the message of an error about the server's certificate. */
function explainCertificate(error: unknown, where: string): void {
  if (error instanceof Error) error.message += certificateRemedy(error, where);
}
