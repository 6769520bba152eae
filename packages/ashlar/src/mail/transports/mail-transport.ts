import type { Container } from "../../kernel/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import type { Mailable } from "../composing/mailable.ts";
import type { MailMessage } from "../message/mail-message.ts";

/** A transport's options in addition to the mail. */
export interface Delivery {
  /** Aborts the delivery, because the application is shutting down and no longer waits. */
  readonly signal: AbortSignal;
  /** The mailable that the mail was composed from; `null` if another process composed it. */
  readonly mailable: Mailable | null;
}

/**
 * Delivers mails: `transport` in `config/mail.ts`. `mailTransportSuite` from `ashlar/testing` tests the contract described
 * here.
 *
 * ```ts
 * class Postbox implements MailTransport {
 *   async deliver(...[mail, { signal }]: Parameters<MailTransport["deliver"]>): Promise<void> {
 *     const { id, from, to, cc, bcc, subject, text, html } = mail;
 *     const body = JSON.stringify({ id, from, to, cc, bcc, subject, text, html });
 *     const response = await fetch("https://postbox.example/mails", { method: "POST", body, signal });
 *     if (response.ok) return;
 *     const permanent = response.status >= 400 && response.status < 500 && response.status !== 429;
 *     throw new DeliveryError(`The service responded with ${response.status}.`, { permanent });
 *   }
 *   close(): void {}
 * }
 * ```
 *
 * Several mails are delivered at once. Every attempt delivers the same frozen message with the same `id`, so a service that
 * tracks ids can drop the second copy of a mail whose first acknowledgment was lost.
 *
 * Security: write `cc` into the mail, but not `bcc`. All recipients in `to`, `cc` and `bcc` get the mail. An error's
 * message reaches the log, so it must not repeat the mail or the service's key.
 */
export interface MailTransport {
  /** The maximum number of mails that are delivered at once; default: 5. */
  readonly concurrency?: number;
  /**
   * Delivers a mail. Must not resolve before the other side has accepted it, because a mail that is only in memory is
   * lost with the process.
   *
   * @returns the addresses that were refused, if others were accepted; nothing if all were accepted
   * @throws {@link DeliveryError} if the mail reaches none of its recipients; any other error counts as temporary
   */
  deliver(message: MailMessage, delivery: Delivery): Promise<readonly string[]> | Promise<void>;
  /**
   * Connects as if to send a mail, and disconnects. `ashlar doctor` calls it. Leave it out if there is nothing to
   * connect to.
   *
   * @throws the reason why mails can't be delivered
   */
  check?(): Promise<void>;
  /** Releases everything. Called when the application shuts down. */
  close(): MaybePromise<void>;
}

/** A transport, or a function that creates one for each application that has it in its configuration. */
export type MailTransportSource = MailTransport | ((container: Container) => MailTransport);

/** A mail was not accepted. */
export class DeliveryError extends Error {
  /** Whether another attempt would fail the same way. */
  readonly permanent: boolean;

  /**
   * @param message the reason, as a sentence for the log
   * @param options.permanent whether another attempt would fail the same way; if so, the mail is abandoned at once
   */
  constructor(message: string, { permanent, cause }: { readonly permanent: boolean; readonly cause?: unknown }) {
    super(message, cause === undefined ? {} : { cause });
    this.name = "DeliveryError";
    this.permanent = permanent;
  }
}
