import type { CompleteApplicationSettings, EnvironmentName } from "../boot/index.ts";
import { normalizeEmail } from "../security/index.ts";
import {
  type Complete,
  ConfigurationError,
  flag,
  isPlainObject,
  type Optional,
  quoted,
  type Setting,
  seconds,
  setting,
  settings,
  text,
  textLike,
  whole,
} from "../support/index.ts";
import { type MailAddress, mailAddress } from "./mail-address.ts";
import type { MailTransport, MailTransportSource } from "./mail-transport.ts";

/** The transports that the framework brings: an SMTP server, the mailbox of development, and memory, for tests. */
export type MailTransportName = "smtp" | "mailbox" | "memory";

/** Whom mails are from. */
export interface SenderSettings {
  /** An email address. It must be set in production; elsewhere `no-reply@` the application's host if left out. */
  readonly address?: Optional<string>;
  /** The application's name if left out. */
  readonly name?: Optional<string>;
}

/** How long a connection to the SMTP server may take. */
export interface SmtpTimeouts {
  /** To be made, and then to be greeted, 0.1 to 600 seconds; 10 if left out. */
  readonly connectSeconds?: number;
  /** To stay silent while a mail is under way, 0.1 to 600 seconds; 60 if left out. */
  readonly idleSeconds?: number;
}

/** A server that takes mails, as `smtp()` and `MAIL.smtp` of `config/mail.ts` name it. */
export interface SmtpSettings {
  /** Its name, without scheme and port. */
  readonly host?: Optional<string>;
  /** 587 if it is left out, or 465 with `secure`. */
  readonly port?: number | undefined;
  /** Whether the connection is encrypted from its first byte; true if it is left out and the port is 465. */
  readonly secure?: boolean | undefined;
  /** Whether a server that does not offer encryption (STARTTLS) is refused; true if left out, unless it is on this machine. */
  readonly requireTls?: boolean | undefined;
  /** The name to log in by, with `password`; no login if both are left out. */
  readonly user?: Optional<string>;
  readonly password?: Optional<string>;
  /** How many connections there are at most, 1 to 100, and so how many mails are sent at once; 5 if it is left out. */
  readonly poolSize?: number | undefined;
  readonly timeouts?: SmtpTimeouts | undefined;
}

/** {@link SmtpSettings}, as they are read. */
export interface CompleteSmtpSettings extends Complete<SmtpSettings> {
  readonly host: string;
  readonly timeouts: Complete<SmtpTimeouts>;
}

/** What the queue does with a mail that could not be sent. */
export interface RetrySettings {
  /** How often a mail is tried in all, 1 to 100; 8 if left out. */
  readonly attempts?: number;
  /**
   * How long the first pause is, 0.01 to 60 seconds; 2 if left out. Each is twice as long as the one before, a minute at
   * most.
   */
  readonly delaySeconds?: number;
}

/** The shape of `MAIL` in `config/mail.ts`. */
export interface MailSettings {
  /**
   * What mails go by. If left out, it is `smtp` in production, `mailbox` in development, and `memory` in tests. `smtp` needs
   * `MAIL.smtp`.
   */
  readonly transport?: MailTransportName | MailTransportSource;
  readonly from?: SenderSettings;
  /** The server of the transport `smtp`. */
  readonly smtp?: SmtpSettings;
  readonly retry?: RetrySettings;
}

/** {@link MailSettings}, as they are read. */
export interface CompleteMailSettings {
  readonly transport: MailTransportName | MailTransportSource;
  readonly from: MailAddress;
  /** `null` if no server is configured. */
  readonly smtp: CompleteSmtpSettings | null;
  readonly retry: Complete<RetrySettings>;
}

const WHERE = "config/mail.ts: MAIL";
const TRANSPORTS: readonly MailTransportName[] = ["smtp", "mailbox", "memory"];
const DEFAULT_TRANSPORTS: Readonly<Record<EnvironmentName, MailTransportName>> = {
  production: "smtp",
  development: "mailbox",
  test: "memory",
};
const EXAMPLE =
  'Write: export const MAIL = { from: { address: "shop@shop.example" }, smtp: { host: env("SMTP_HOST"), … } }.';

const TRANSPORT: Setting<MailTransportName | MailTransportSource | null, MailTransportName | MailTransportSource> =
  setting({
    what: '"smtp", "mailbox" or "memory", smtp({ … }), or an object with the methods of MailTransport',
    fallback: null,
    words: TRANSPORTS,
    describe: quoted,
    accept: (value) => (isTransportSource(value) ? value : TRANSPORTS.find((name) => name === value)),
  });

const SMTP = settings<SmtpSettings>()(
  {
    host: textLike('the name of a host, without scheme and port: "smtp.shop.example"', /^[\w.:-]+$/, null),
    port: whole({ from: 1, to: 65_535 }, null),
    secure: flag(null),
    requireTls: flag(null),
    user: text(null),
    password: text(null),
    poolSize: whole({ from: 1, to: 100 }, 5),
    timeouts: settings<SmtpTimeouts>()({
      connectSeconds: seconds({ from: 0.1, to: 600 }, 10),
      idleSeconds: seconds({ from: 0.1, to: 600 }, 60),
    }),
  },
  {
    check({ user, password }, refuse) {
      if ((user === null) === (password === null)) return;
      throw refuse(user === null ? "user" : "password", "is missing.", "Set both, user and password, or neither.");
    },
  },
);

const SCHEMA = settings<MailSettings>()({
  transport: TRANSPORT,
  from: settings<SenderSettings>()({ address: text(null), name: text(null) }),
  smtp: SMTP,
  retry: settings<RetrySettings>()({
    attempts: whole({ from: 1, to: 100 }, 8),
    delaySeconds: seconds({ from: 0.01, to: 60 }, 2),
  }),
});

type Read = ReturnType<typeof SCHEMA.read>;
type Application = Pick<CompleteApplicationSettings, "environment" | "name" | "url">;

/**
 * Reads `MAIL`.
 *
 * @param mail what `config/mail.ts` exports as `MAIL`
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readMailSettings(mail: unknown, application: Application): CompleteMailSettings {
  const read = SCHEMA.read(mail, WHERE);
  const transport = read.transport ?? DEFAULT_TRANSPORTS[application.environment];
  if (typeof transport === "string") requireFittingTransport(transport, application.environment);
  requireCompleteness(mail, read, application.environment, transport === "smtp");
  return Object.freeze({
    transport,
    from: sender(read.from, application),
    smtp: completeSmtp(read.smtp),
    retry: read.retry,
  });
}

/** @internal Reads what `smtp()` is called with; `null` if it does not name a host. */
export function readSmtpSettings(smtp: unknown, where: string): CompleteSmtpSettings | null {
  return completeSmtp(SMTP.read(smtp, where));
}

function completeSmtp(read: Read["smtp"]): CompleteSmtpSettings | null {
  const { host } = read;
  if (host === null) return null;
  const secure = read.secure ?? read.port === 465;
  const port = read.port ?? (secure ? 465 : 587);
  // Without it, an attacker in between can hide the server's offer to encrypt, and read along.
  const requireTls = read.requireTls ?? !isLoopback(host);
  return Object.freeze({ ...read, host, port, secure, requireTls });
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function isTransportSource(value: unknown): value is MailTransportSource {
  return typeof value === "function" || isTransport(value);
}

/** @internal Whether a value has the methods of a {@link MailTransport}. */
export function isTransport(value: unknown): value is MailTransport {
  const { deliver, close } = Object(value) as Partial<MailTransport>;
  return typeof deliver === "function" && typeof close === "function";
}

/**
 * @internal Refuses one of the framework's transports where it must not be used.
 *
 * @throws `E_INVALID_CONFIGURATION` if it is the mailbox and this is not development, or the memory and this is production
 */
export function requireFittingTransport(name: MailTransportName, environment: EnvironmentName): void {
  const where = `${WHERE}.transport`;
  if (name === "mailbox" && environment !== "development") {
    // Everyone could read everyone's mails there, reset links included.
    throw new ConfigurationError(where, `is "mailbox", in ${environment}.`, "The mailbox is for development alone.");
  }
  if (name === "memory" && environment === "production") {
    throw new ConfigurationError(where, 'is "memory", which sends no mail, in production.', 'Set it to "smtp".');
  }
}

/** Everything that is missing, at once: the server that `"smtp"` needs, and in production a sender. */
function requireCompleteness(mail: unknown, read: Read, environment: EnvironmentName, isBySmtp: boolean): void {
  const missing = [
    ...(isBySmtp && read.smtp.host === null ? [{ group: "smtp", name: "host", variable: "SMTP_HOST" }] : []),
    ...(environment === "production" && read.from.address === null
      ? [{ group: "from", name: "address", variable: "MAIL_FROM" }]
      : []),
  ];
  if (missing.length === 0) return;
  const paths = missing.map(({ group, name }) => `${group}.${name}`).join(" and ");
  const problem = `does not say ${paths}, and mails are sent${isBySmtp ? " by SMTP" : ""} here.`;
  // If the lines are there already, it is their variables that have no value.
  const isWritten = missing.every(({ group, name }) => {
    const members = isPlainObject(mail) ? mail[group] : undefined;
    return isPlainObject(members) && Object.hasOwn(members, name);
  });
  const variables = missing.map(({ variable }) => variable).join(" and ");
  throw new ConfigurationError(WHERE, problem, isWritten ? `Set ${variables} in the environment.` : EXAMPLE);
}

function sender(read: Read["from"], application: Application): MailAddress {
  const host = application.url === null ? "localhost" : new URL(application.url).hostname;
  const address = read.address ?? normalizeEmail(`no-reply@${host}`) ?? "no-reply@localhost";
  try {
    return mailAddress({ address, name: read.name ?? application.name }, "The sender");
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const remedy = 'Write: { address: "shop@shop.example", name: "Shop" }.';
    throw new ConfigurationError(`${WHERE}.from`, error.message, remedy);
  }
}
