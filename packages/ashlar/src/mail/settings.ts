import type { CompleteApplicationSettings, EnvironmentName } from "../boot/index.ts";
import { normalizeEmail } from "../security/index.ts";
import {
  type Complete,
  ConfigurationError,
  flag,
  integer,
  isPlainObject,
  number,
  type Optional,
  quoted,
  type Setting,
  seconds,
  setting,
  settings,
  text,
} from "../support/index.ts";
import { type MailAddress, mailAddress } from "./message/mail-address.ts";
import type { OutboxSettings } from "./outbox/outbox.ts";
import type { RetrySettings } from "./sending/retry-queue.ts";
import type { MailTransport, MailTransportSource } from "./transports/mail-transport.ts";
import { type CompleteSmtpSettings, completeSmtp, SMTP, type SmtpSettings } from "./transports/smtp-settings.ts";

/** The built-in transports: an SMTP server, the development mailbox, and memory for tests. */
export type MailTransportName = "smtp" | "mailbox" | "memory";

/** The sender of mails. */
export interface SenderSettings {
  /** The email address. Required in production; default elsewhere: `no-reply@` the application's host. */
  readonly address?: Optional<string>;
  /** The name that recipients see; default: the application's name. */
  readonly name?: Optional<string>;
}

/** `MAIL` in `config/mail.ts`. */
export interface MailSettings {
  /**
   * How mails are sent; default: `smtp` in production, `mailbox` in development, `memory` in tests. `smtp` needs
   * `MAIL.smtp`.
   */
  readonly transport?: MailTransportName | MailTransportSource;
  readonly from?: SenderSettings;
  /** The server of the transport `smtp`. */
  readonly smtp?: SmtpSettings;
  readonly retry?: RetrySettings;
  readonly outbox?: OutboxSettings;
}

/** {@link MailSettings} as read. */
export interface CompleteMailSettings {
  readonly transport: MailTransportName | MailTransportSource;
  readonly from: MailAddress;
  /** `null` if no server is configured. */
  readonly smtp: CompleteSmtpSettings | null;
  readonly retry: Complete<RetrySettings>;
  readonly outbox: Complete<OutboxSettings>;
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

const SCHEMA = settings<MailSettings>()({
  transport: TRANSPORT,
  from: settings<SenderSettings>()({ address: text(null), name: text(null) }),
  smtp: SMTP,
  retry: settings<RetrySettings>()({
    attempts: integer({ from: 1, to: 100 }, 8),
    delaySeconds: seconds({ from: 0.01, to: 60 }, 2),
  }),
  outbox: settings<OutboxSettings>()({
    enabled: flag(true),
    pollSeconds: seconds({ from: 0.05, to: 3600 }, 5),
    claimSeconds: seconds({ from: 0.5, to: 3600 }, 60),
    retryHours: number({ from: 0.0001, to: 720, unit: "hours" }, 24),
    keepFailedDays: integer({ from: 0, to: 3650, unit: "days" }, 30),
  }),
});

type Read = ReturnType<typeof SCHEMA.read>;
type Application = Pick<CompleteApplicationSettings, "environment" | "name" | "url">;

/**
 * Reads `MAIL`.
 *
 * @param mail the export `MAIL` of `config/mail.ts`
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
    outbox: read.outbox,
  });
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
 * @internal Refuses a built-in transport in the wrong environment.
 *
 * @throws `E_INVALID_CONFIGURATION` for the mailbox outside of development, or for memory in production
 */
export function requireFittingTransport(name: MailTransportName, environment: EnvironmentName): void {
  const where = `${WHERE}.transport`;
  if (name === "mailbox" && environment !== "development") {
    // Anyone could read all mails there, including reset links.
    throw new ConfigurationError(where, `is "mailbox", in ${environment}.`, "The mailbox is for development only.");
  }
  if (name === "memory" && environment === "production") {
    throw new ConfigurationError(where, 'is "memory", which sends no mail, in production.', 'Set it to "smtp".');
  }
}

/** Reports all missing settings at once: the server that `"smtp"` needs, and the sender that production needs. */
function requireCompleteness(mail: unknown, read: Read, environment: EnvironmentName, isBySmtp: boolean): void {
  const missing = [
    ...(isBySmtp && read.smtp.host === null ? [{ group: "smtp", name: "host", variable: "SMTP_HOST" }] : []),
    ...(environment === "production" && read.from.address === null
      ? [{ group: "from", name: "address", variable: "MAIL_FROM" }]
      : []),
  ];
  if (missing.length === 0) return;
  const paths = missing.map(({ group, name }) => `${group}.${name}`).join(" and ");
  const problem = `needs ${paths} to send mails${isBySmtp ? " by SMTP" : ""}.`;
  // If the settings are already written in the file, their environment variables are empty.
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
