import type { ApplicationSettings, EnvironmentName } from "../boot/index.ts";
import { normalizeEmail } from "../security/index.ts";
import { ConfigurationError, isPlainObject, SettingsReader, suggestion } from "../support/index.ts";
import { type MailAddress, mailAddress } from "./mail-address.ts";

/** Where mails go: to an SMTP server, into the mailbox of development, or into memory, for tests. */
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
  readonly default: MailTransportName;
  readonly from: MailAddress;
  /** `null` where no server is configured. */
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
  const reader = new SettingsReader(mail, WHERE, ["default", "from", "smtp", "retry"]);
  const transport = readTransport(reader, application.environment);
  if (transport === "smtp") requireServer(mail, application.environment);
  return Object.freeze({
    default: transport,
    from: readFrom(reader.raw("from"), application),
    smtp: readSmtp(reader.raw("smtp")),
    retry: readRetry(reader.raw("retry")),
  });
}

function readTransport(reader: SettingsReader, environment: EnvironmentName): MailTransportName {
  const name = reader.text("default") ?? DEFAULTS[environment];
  const transport = TRANSPORTS.find((known) => known === name);
  if (transport === undefined) {
    throw reader.problem("default", `is ${JSON.stringify(name)}.`, suggestion(name, TRANSPORTS));
  }
  if (transport === "mailbox" && environment !== "development") {
    // Everybody could read everybody's mails there, reset links included.
    throw reader.problem("default", `is "mailbox", in ${environment}.`, "The mailbox is for development alone.");
  }
  if (transport === "memory" && environment === "production") {
    throw reader.problem("default", 'is "memory", which sends no mail, in production.', 'Set it to "smtp".');
  }
  return transport;
}

/** Everything that is missing, at once. In production a sender has to be named too. */
function requireServer(mail: unknown, environment: EnvironmentName): void {
  const missing = [
    ...(member(member(mail, "smtp"), "host") ? [] : ["smtp.host"]),
    ...(environment !== "production" || member(member(mail, "from"), "address") ? [] : ["from.address"]),
  ];
  if (missing.length === 0) return;
  const problem = `does not say ${missing.join(" and ")}, and mails are sent by SMTP here.`;
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

function readSmtp(value: unknown): SmtpSettings | null {
  const where = `${WHERE}.smtp`;
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
