import {
  type Complete,
  flag,
  integer,
  isLoopbackAddress,
  type Optional,
  type Setting,
  seconds,
  settings,
  text,
  textLike,
} from "../../support/index.ts";

/** Time limits of a connection to the SMTP server. */
export interface SmtpTimeouts {
  /** How long to wait for the connection, and then for the server's greeting, 0.1 to 600 seconds; default: 10. */
  readonly connectSeconds?: number;
  /** How long the server may be silent while a mail is sent, 0.1 to 600 seconds; default: 60. */
  readonly idleSeconds?: number;
}

/** The settings of `smtp()`, and `MAIL.smtp` in `config/mail.ts`. */
export interface SmtpSettings {
  /** The server's host name or address, without scheme and port. */
  readonly host?: Optional<string>;
  /** The port; default: 587, or 465 with `secure`. */
  readonly port?: number | undefined;
  /** Whether the connection is encrypted from its first byte; default: `true` if the port is 465, else `false`. */
  readonly secure?: boolean | undefined;
  /**
   * Whether to refuse a server without encryption (STARTTLS); default: `true`, except for a server on this machine.
   * With `false`, a server may lack encryption, but if it encrypts, its certificate must be valid.
   */
  readonly requireTls?: boolean | undefined;
  /**
   * The certificates of the authorities that may have signed the server's certificate, such as your own authority's, or
   * the server's own certificate if it is self-signed: a PEM file, relative to the application's folder, or the PEM
   * text itself. Default: the authorities that Node.js trusts.
   */
  readonly ca?: Optional<string>;
  /** The name that the server's certificate must have; default: `host`. */
  readonly servername?: Optional<string>;
  /** The name to log in with, along with `password`; default: no login. */
  readonly user?: Optional<string>;
  readonly password?: Optional<string>;
  /** The maximum number of connections, and therefore of mails sent at once, 1 to 100; default: 5. */
  readonly poolSize?: number | undefined;
  readonly timeouts?: SmtpTimeouts | undefined;
}

/** {@link SmtpSettings} as read, before derived values are filled in. */
interface ReadSmtp extends Complete<Omit<SmtpSettings, "port" | "secure" | "requireTls" | "timeouts">> {
  readonly port: number | null;
  readonly secure: boolean | null;
  readonly requireTls: boolean | null;
  readonly timeouts: Complete<SmtpTimeouts>;
}

/** {@link SmtpSettings}, complete. */
export interface CompleteSmtpSettings extends Complete<SmtpSettings> {
  readonly host: string;
  readonly timeouts: Complete<SmtpTimeouts>;
}

/** The setting `MAIL.smtp`. */
export const SMTP: Setting<ReadSmtp, SmtpSettings> = settings<SmtpSettings>()(
  {
    host: textLike('the name of a host, without scheme and port: "smtp.shop.example"', /^[\w.:-]+$/, null),
    port: integer({ from: 1, to: 65_535 }, null),
    secure: flag(null),
    requireTls: flag(null),
    ca: text(null),
    servername: textLike('the name in the certificate: "smtp.shop.example"', /^[\w.-]+$/, null),
    user: text(null),
    password: text(null),
    poolSize: integer({ from: 1, to: 100 }, 5),
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

/** @internal Reads the settings of `smtp()`; `null` without a host. */
export function readSmtpSettings(smtp: unknown, where: string): CompleteSmtpSettings | null {
  return completeSmtp(SMTP.read(smtp, where));
}

/** Fills in values that depend on other settings; `null` without a host. */
export function completeSmtp(read: ReadSmtp): CompleteSmtpSettings | null {
  const { host } = read;
  if (host === null) return null;
  const secure = read.secure ?? read.port === 465;
  const port = read.port ?? (secure ? 465 : 587);
  // Without it, an attacker between client and server could hide that the server supports encryption, and read
  // everything.
  const requireTls = read.requireTls ?? !isLoopbackAddress(host);
  return Object.freeze({ ...read, host, port, secure, requireTls });
}
