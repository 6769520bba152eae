import { AshlarError } from "../support/index.ts";

/** Why a mail could not be sent. */
export interface DeliveryFailure {
  /** A sentence for the log. */
  readonly reason: string;
  /** Whether another attempt would fail the same way. */
  readonly isPermanent: boolean;
}

/** What a transport's error contains beyond its message: a `DeliveryError`, or an error of the SMTP client. */
interface TransportError extends Error {
  readonly code?: string;
  readonly responseCode?: number;
  /** Whether the mail was refused permanently (RFC 5321 §4.2.1: a 5yz reply). */
  readonly permanent?: boolean;
}

/** The step at which an error occurred. */
export type DeliveryStep = "composing" | "delivering";

/**
 * Returns what an error during composing or delivering means for the mail.
 *
 * Security: only what is returned here reaches the log. A server's response to a login may repeat the credentials.
 */
export function deliveryFailure(error: unknown, step: DeliveryStep): DeliveryFailure {
  if (!(error instanceof Error)) return { reason: "A value that is not an Error was thrown.", isPermanent: true };
  if (error instanceof AshlarError) return { reason: error.message, isPermanent: true };
  const { code, responseCode, permanent, message } = error as TransportError;
  if (code === "EAUTH" || code === "ENOAUTH") {
    const status = responseCode === undefined ? "" : ` (${responseCode})`;
    return {
      reason: `The SMTP server refused the login${status}. Check user and password.`,
      isPermanent: permanent === true,
    };
  }
  // If a mail can't be composed for any reason but the network, the mailable's own code has a bug.
  const isDefect = step === "composing" && code === undefined;
  return { reason: oneLine(message), isPermanent: permanent ?? isDefect };
}

function oneLine(message: string): string {
  return message.replaceAll(/\s+/g, " ").trim().slice(0, 500);
}
