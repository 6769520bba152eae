import { AshlarError } from "../../support/index.ts";
import { withMaskedAddresses } from "../message/masked-addresses.ts";

/** Why a mail could not be sent. */
export interface DeliveryFailure {
  /** A sentence for the log. */
  readonly reason: string;
  /** Whether another attempt would fail the same way. */
  readonly isPermanent: boolean;
  /**
   * Whether the complete mail was transmitted, and only the response is missing. Another attempt may then send a second
   * copy.
   */
  readonly mayHaveArrived?: boolean;
  /** Whether the mail server couldn't be used at all, so that every other mail would fail the same way. */
  readonly isUnreachable?: boolean;
}

/** The members of a transport's error beyond its message: a `DeliveryError`, or an error of the SMTP client. */
interface TransportError extends Error {
  readonly code?: string;
  /** The SMTP command that failed; `CONN` for the greeting and a lost connection. */
  readonly command?: string;
  /** The server's response, as it was received. */
  readonly response?: string;
  readonly responseCode?: number;
  /** Whether the mail was refused permanently (RFC 5321 §4.2.1: a 5yz reply). */
  readonly permanent?: boolean;
  /** The system call that failed. */
  readonly syscall?: string;
  /** Which of the SMTP client's timeouts has expired. */
  readonly timeoutType?: string;
  /** Set by the SMTP transport; see {@link DeliveryFailure}. */
  readonly mayHaveArrived?: boolean;
  /** Set by the SMTP transport if there was no connection for the mail; see {@link DeliveryFailure}. */
  readonly isUnreachable?: boolean;
}

/**
 * The commands whose permanent refusal is about the mail. Responses to the connection, `EHLO`, `STARTTLS` and `AUTH`
 * are about the server or the settings.
 */
const MAIL_COMMANDS: ReadonlySet<string> = new Set(["MAIL FROM", "RCPT TO", "DATA"]);
/**
 * Refusals of `MAIL FROM` that aren't about the mail: there is no storage left (552, RFC 5321 §4.2.3), a login or encryption
 * is missing (530, RFC 4954 §6), or the mail system has a problem (5.3.x, RFC 3463 §3.4).
 */
const REFUSED_FOR_NOW = /^(?:552|530|\d{3}[ -]5\.3\.\d)/;

/** The step at which an error occurred. */
export type DeliveryStep = "composing" | "delivering";

/**
 * Returns what an error while composing or delivering a mail means for the mail.
 *
 * Security: only this result reaches the log, events and the outbox. A server's response to a login may repeat the
 * credentials, and its response to a mail may repeat a link in it.
 */
export function deliveryFailure(error: unknown, step: DeliveryStep): DeliveryFailure {
  if (!(error instanceof Error)) return { reason: "A value that is not an Error was thrown.", isPermanent: true };
  if (error instanceof AshlarError) return { reason: withMaskedAddresses(error.message), isPermanent: true };
  const { code, responseCode, mayHaveArrived, message } = error as TransportError;
  if (code === "EAUTH" || code === "ENOAUTH") {
    const status = responseCode === undefined ? "" : ` (${responseCode})`;
    const reason = `The SMTP server refused the login${status}. Check user and password.`;
    return { reason, isPermanent: false, isUnreachable: true };
  }
  // If a mail can't be composed for any reason but the network, the mailable's own code has a bug.
  const isDefect = step === "composing" && code === undefined;
  return {
    reason: oneLine(message),
    isPermanent: isRefusedForGood(error) ?? isDefect,
    ...(mayHaveArrived && { mayHaveArrived }),
    ...(step === "delivering" && isUnreachable(error) && { isUnreachable: true }),
  };
}

/** Returns whether the mail was refused permanently; `undefined` if the error doesn't say so. */
function isRefusedForGood({ command, permanent, response = "" }: TransportError): boolean | undefined {
  if (permanent !== true || command === undefined) return permanent;
  return MAIL_COMMANDS.has(command) && !(command === "MAIL FROM" && REFUSED_FOR_NOW.test(response));
}

/** The system calls before there is a connection. */
const BEFORE_CONNECTION: ReadonlySet<string> = new Set(["connect", "getaddrinfo"]);
const SETUP_TIMEOUTS: ReadonlySet<string> = new Set(["CONNECT_TIMEOUT", "GREETING_TIMEOUT", "UPGRADE_TIMEOUT"]);
/** The commands before any mail. The response to `CONN` is the greeting. */
const SETUP_COMMANDS: ReadonlySet<string> = new Set(["CONN", "EHLO", "HELO", "STARTTLS"]);
/**
 * Codes for unknown names, for `fetch` without a connection, and for failed certificates and handshakes (Node.js,
 * OpenSSL).
 */
const SETUP_CODES =
  /^(?:EDNS$|UND_ERR_CONNECT_TIMEOUT$|CERT_|ERR_SSL_|ERR_TLS_|UNABLE_TO_|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT)/;

/**
 * Whether a failure is about the server rather than the mail. A connection that is lost later doesn't count: the server
 * may be unable to handle this particular mail, which must not be retried as often as an unreachable server.
 */
function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, command = "", responseCode, syscall = "", timeoutType = "", cause } = error as TransportError;
  if ((error as TransportError).isUnreachable === true) return true;
  if (BEFORE_CONNECTION.has(syscall) || SETUP_TIMEOUTS.has(timeoutType) || SETUP_CODES.test(String(code))) return true;
  // An HTTP client's error has the system's error as its cause.
  return (SETUP_COMMANDS.has(command) && responseCode !== undefined) || isUnreachable(cause);
}

const URLS = /[a-z][a-z\d+.-]*:\/\/\S+/gi;
/** Long words, which may be the token of a link. After an `@`, they are a host name. */
const TOKENS = /(?<!@[\w.-]*)[\w-]{20,}/g;

function oneLine(message: string): string {
  return withMaskedAddresses(message.replaceAll(URLS, "…"))
    .replaceAll(TOKENS, "…")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, 500);
}
