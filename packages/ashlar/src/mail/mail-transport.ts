import type { Container } from "../kernel/index.ts";
import type { MaybePromise } from "../support/index.ts";
import type { MailMessage } from "./mail-message.ts";
import type { Mailable } from "./mailable.ts";

/** What a transport is told besides the mail itself. */
export interface Delivery {
  /** Gives the delivery up: the application is shutting down and waits no longer. */
  readonly signal: AbortSignal;
  /** What the mail was composed from. */
  readonly mailable: Mailable;
}

/**
 * Takes mails to where they go: `transport` of `config/mail.ts`. `mailTransportSuite` of `ashlar/testing` tests what is
 * promised here.
 *
 * ```ts
 * class Postbox implements MailTransport {
 *   async deliver({ id, from, to, cc, bcc, subject, text, html }: MailMessage, { signal }: Delivery): Promise<void> {
 *     const body = JSON.stringify({ id, from, to, cc, bcc, subject, text, html });
 *     const response = await fetch("https://postbox.example/mails", { method: "POST", body, signal });
 *     if (response.ok) return;
 *     const permanent = response.status >= 400 && response.status < 500 && response.status !== 429;
 *     throw new DeliveryError(`The service answered ${response.status}.`, { permanent });
 *   }
 *   close(): void {}
 * }
 * ```
 *
 * Several mails are delivered at once. Each try at a mail delivers the same frozen message with the same `id`, so that
 * a service that knows ids can drop the second copy of a mail whose first acknowledgment was lost.
 *
 * Security: `cc` is written into the mail and `bcc` is not; each recipient of all three gets it. What an error says
 * reaches the log, so it should not repeat the mail, nor the key of the service.
 */
export interface MailTransport {
  /** How many mails are delivered at once, at most; 5 if it is left out. */
  readonly concurrency?: number;
  /**
   * Delivers a mail. It resolves once the other side has accepted it, and not earlier: a mail that is only kept in memory
   * is lost with the process.
   *
   * @returns the addresses that were refused, if others were accepted; nothing if all were
   * @throws {@link DeliveryError} if the mail reaches none of its recipients; any other error counts as one that may pass
   */
  deliver(message: MailMessage, delivery: Delivery): Promise<readonly string[]> | Promise<void>;
  /** Releases everything. Called when the application shuts down. */
  close(): MaybePromise<void>;
}

/** A transport, or what makes the transport of each application that has it in its configuration. */
export type MailTransportSource = MailTransport | ((container: Container) => MailTransport);

/** A mail was not accepted, and whether it is worth trying again. */
export class DeliveryError extends Error {
  /** Whether another try would end the same way. */
  readonly permanent: boolean;

  /**
   * @param message why, in a sentence for the log
   * @param options.permanent whether another try would end the same way; a mail of which that is true is given up at once
   */
  constructor(message: string, { permanent, cause }: { readonly permanent: boolean; readonly cause?: unknown }) {
    super(message, cause === undefined ? {} : { cause });
    this.name = "DeliveryError";
    this.permanent = permanent;
  }
}
