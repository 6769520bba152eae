import type { ApplicationSettings, EnvironmentName } from "../boot/index.ts";
import { normalizeEmail } from "../security/index.ts";
import { ConfigurationError, isPlainObject, SettingsReader, suggestion } from "../support/index.ts";
import { type MailAddress, mailAddress } from "./mail-address.ts";
import type { MailTransport, MailTransportSource } from "./mail-transport.ts";

/** The transports that the framework brings: an SMTP server, the mailbox of development, and memory, for tests. */
export type MailTransportName = "smtp" | "mailbox" | "memory";

/** How long a connection to the SMTP server may take. */
export interface SmtpTimeouts {
  /** To be made, and then to be greeted. */
  readonly connectSeconds: number;
  /** To stay silent while a mail is under way. */
  readonly idleSeconds: number;
}

/** `MAIL.smtp`, checked and complete. */
export interface SmtpSettings {
  readonly host: string;
  readonly port: number;
  /** Whether the connection is encrypted from its first byte, as on port 465. */
  readonly secure: boolean;
  /** Whether a server that does not offer encryption (STARTTLS) is refused. */
  readonly requireTls: boolean;
  readonly user: string | null;
  readonly password: string | null;
  /** How many connections there are at most, and so how many mails are sent at once. */
  readonly poolSize: number;
  readonly timeouts: SmtpTimeouts;
}

/** `MAIL.retry`, checked and complete: what the queue does with a mail that could not be sent. */
export interface RetrySettings {
  /** How often a mail is tried in all. */
  readonly attempts: number;
  /** How long the first pause is; each is twice as long as the one before, a minute at most. */
  readonly delaySeconds: number;
}

/** `MAIL` of `config/mail.ts`, checked and complete. */
export interface MailSettings {
  readonly transport: MailTransportName | MailTransportSource;
  readonly from: MailAddress;
  /** The server of the transport `"smtp"`; `null` if none is configured. */
  readonly smtp: SmtpSettings | null;
  readonly retry: RetrySettings;
}

const WHERE = "config/mail.ts: MAIL";
const TRANSPORTS: readonly MailTransportName[] = ["smtp", "mailbox", "memory"];
const DEFAULTS: Readonly<Record<EnvironmentName, MailTransportName>> = {
  production: "smtp",
  development: "mailbox",
  test: "memory",
};
const SMTP_NAMES = ["host", "port", "secure", "requireTls", "user", "password", "poolSize", "timeouts"];
const TRANSPORT_EXAMPLE =
  'Write transport: "smtp", "mailbox" or "memory", smtp({ … }), or an object with the methods of MailTransport.';
const EXAMPLE =
  'Write: export const MAIL = { from: { address: "shop@shop.example" }, smtp: { host: env("SMTP_HOST"), … } }.';

/**
 * Checks `MAIL`, fills in what is left out, and freezes it.
 *
 * @param mail what `config/mail.ts` exports as `MAIL`; nothing where there is no such file
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readMailSettings(
  mail: unknown,
  application: Pick<ApplicationSettings, "environment" | "name" | "url">,
): MailSettings {
  const reader = new SettingsReader(mail, WHERE, ["transport", "from", "smtp", "retry"]);
  const transport = readTransport(reader, application.environment);
  requireCompleteness(mail, application.environment, transport === "smtp");
  return Object.freeze({
    transport,
    from: readFrom(reader.raw("from"), application),
    smtp: readSmtp(reader.raw("smtp"), `${WHERE}.smtp`),
    retry: readRetry(reader.raw("retry")),
  });
}

function readTransport(reader: SettingsReader, environment: EnvironmentName): MailSettings["transport"] {
  const value = reader.raw("transport") ?? DEFAULTS[environment];
  if (isTransportSource(value)) return value;
  const name = TRANSPORTS.find((known) => known === value);
  if (name === undefined) {
    const near = typeof value === "string" ? suggestion(value, TRANSPORTS) : "";
    throw reader.problem("transport", `is ${JSON.stringify(value)}.`, `${near} ${TRANSPORT_EXAMPLE}`.trim());
  }
  requireFittingTransport(name, environment);
  return name;
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
    // Everybody could read everybody's mails there, reset links included.
    throw new ConfigurationError(where, `is "mailbox", in ${environment}.`, "The mailbox is for development alone.");
  }
  if (name === "memory" && environment === "production") {
    throw new ConfigurationError(where, 'is "memory", which sends no mail, in production.', 'Set it to "smtp".');
  }
}

/** Everything that is missing, at once: the server that `"smtp"` needs, and in production a sender. */
function requireCompleteness(mail: unknown, environment: EnvironmentName, isBySmtp: boolean): void {
  const missing = [
    ...(!isBySmtp || member(member(mail, "smtp"), "host") ? [] : ["smtp.host"]),
    ...(environment !== "production" || member(member(mail, "from"), "address") ? [] : ["from.address"]),
  ];
  if (missing.length === 0) return;
  const problem = `does not say ${missing.join(" and ")}, and mails are sent${isBySmtp ? " by SMTP" : ""} here.`;
  // Where the lines are there already, it is their variables that have no value.
  const isWritten = missing.every((path) => {
    const [group = "", name = ""] = path.split(".");
    const members = member(mail, group);
    return isPlainObject(members) && Object.hasOwn(members, name);
  });
  const variables = missing.map((path) => (path === "smtp.host" ? "SMTP_HOST" : "MAIL_FROM")).join(" and ");
  throw new ConfigurationError(WHERE, problem, isWritten ? `Set ${variables} in the environment.` : EXAMPLE);
}

function member(value: unknown, name: string): unknown {
  return isPlainObject(value) ? value[name] : undefined;
}

function readFrom(value: unknown, { name: application, url }: Pick<ApplicationSettings, "name" | "url">): MailAddress {
  const reader = new SettingsReader(value, `${WHERE}.from`, ["address", "name"]);
  const host = url === null ? "localhost" : new URL(url).hostname;
  const address = reader.text("address") ?? normalizeEmail(`no-reply@${host}`) ?? "no-reply@localhost";
  try {
    return mailAddress({ address, name: reader.text("name") ?? application }, "The sender");
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new ConfigurationError(
      `${WHERE}.from`,
      error.message,
      'Write: { address: "shop@shop.example", name: "Shop" }.',
    );
  }
}

/** @internal Checks `MAIL.smtp`, and what `smtp()` is called with; `null` if it does not name a host. */
export function readSmtp(value: unknown, where: string): SmtpSettings | null {
  const reader = new SettingsReader(value, where, SMTP_NAMES);
  const host = reader.text("host") ?? null;
  if (host === null) return null;
  if (!/^[\w.:-]+$/.test(host)) {
    throw reader.problem(
      "host",
      "is not the name of a host.",
      'Write it without scheme and port: "smtp.shop.example".',
    );
  }
  const secure = reader.boolean("secure", reader.raw("port") === 465);
  const user = reader.text("user") ?? null;
  const password = reader.text("password") ?? null;
  if ((user === null) !== (password === null)) {
    throw reader.problem(user === null ? "user" : "password", "is not set.", "Set both, user and password, or none.");
  }
  return Object.freeze({
    host,
    port: reader.integer("port", secure ? 465 : 587, [1, 65_535]),
    secure,
    // Without it, whoever stands in between can hide the server's offer to encrypt, and read along.
    requireTls: reader.boolean("requireTls", !isLoopback(host)),
    user,
    password,
    poolSize: reader.integer("poolSize", 5, [1, 100]),
    timeouts: readTimeouts(reader.raw("timeouts"), `${where}.timeouts`),
  });
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function readTimeouts(value: unknown, where: string): SmtpTimeouts {
  const reader = new SettingsReader(value, where, ["connectSeconds", "idleSeconds"]);
  return Object.freeze({
    connectSeconds: reader.number("connectSeconds", 10, [0.1, 600]),
    idleSeconds: reader.number("idleSeconds", 60, [0.1, 600]),
  });
}

function readRetry(value: unknown): RetrySettings {
  const reader = new SettingsReader(value, `${WHERE}.retry`, ["attempts", "delaySeconds"]);
  return Object.freeze({
    attempts: reader.integer("attempts", 8, [1, 100]),
    delaySeconds: reader.number("delaySeconds", 2, [0.01, 60]),
  });
}
