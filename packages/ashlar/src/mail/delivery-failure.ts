import { AshlarError } from "../support/index.ts";

/** Why a mail could not be sent. */
export interface DeliveryFailure {
  /** In a sentence, for the log. */
  readonly reason: string;
  /** Whether another try would end the same way. */
  readonly isPermanent: boolean;
}

/** What an error of a transport tells beyond its message: a `DeliveryError`, or an error of the SMTP client. */
interface TransportError extends Error {
  readonly code?: string;
  readonly responseCode?: number;
  /** Whether the mail was refused for good (RFC 5321 §4.2.1: a reply of 5yz). */
  readonly permanent?: boolean;
}

/** At which step an error arose. */
export type DeliveryStep = "composing" | "delivering";

/**
 * What an error that arose while a mail was composed or delivered means for it.
 *
 * Security: nothing of the error but what is named here reaches the log. A server's answer to a login may repeat what it
 * was sent.
 */
export function deliveryFailure(error: unknown, step: DeliveryStep): DeliveryFailure {
  if (!(error instanceof Error)) return { reason: "Something was thrown that is no error.", isPermanent: true };
  if (error instanceof AshlarError) return { reason: error.message, isPermanent: true };
  const { code, responseCode, permanent, message } = error as TransportError;
  if (code === "EAUTH" || code === "ENOAUTH") {
    const status = responseCode === undefined ? "" : ` (${responseCode})`;
    return {
      reason: `The SMTP server refused the login${status}: check user and password.`,
      isPermanent: permanent === true,
    };
  }
  // A mail that cannot be composed, other than for a failure of the network, fails by a defect of the mailable's own code.
  const isDefect = step === "composing" && code === undefined;
  return { reason: oneLine(message), isPermanent: permanent ?? isDefect };
}

function oneLine(message: string): string {
  return message.replaceAll(/\s+/g, " ").trim().slice(0, 500);
}
