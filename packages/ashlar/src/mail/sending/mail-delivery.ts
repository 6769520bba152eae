import type { Events } from "../../events/index.ts";
import type { Logger } from "../../kernel/index.ts";
import { currentDate, traceChannels, traced } from "../../support/index.ts";
import type { Mailable } from "../composing/mailable.ts";
import type {} from "../events.ts";
import { type MailMessage, recipientsOf } from "../message/mail-message.ts";
import { maskedAddress } from "../message/masked-addresses.ts";
import type { MailAttempt, MailSender } from "../outbox/outbox.ts";
import { type DeliveryFailure, deliveryFailure } from "../transports/delivery-failure.ts";
import type { MailTransport } from "../transports/mail-transport.ts";

/** How many queued mails are sent at once, unless the transport sets a number. */
const CONCURRENCY = 5;

/** What may be logged about a mail. Its subject and content may contain a link that logs a user in. */
export interface MailAccount {
  readonly mailable: string;
  readonly recipients: readonly string[];
}

function traceDelivery<T>(message: MailMessage, deliver: () => Promise<T>): Promise<T> {
  const { mail } = traceChannels;
  if (!mail.hasSubscribers) return deliver();
  return traced(mail, { mailable: message.mailable, recipients: recipientsOf(message).length }, deliver);
}

/** Hands composed mails over to the transport, and reports the outcome to the log and to event listeners. */
export class MailDelivery implements MailSender {
  readonly #transport: MailTransport;
  readonly #logger: Logger;
  readonly #events: Events | null;
  #failedAttempts = 0;

  /** @param events `null` if the application has no events */
  constructor(transport: MailTransport, logger: Logger, events: Events | null) {
    this.#transport = transport;
    this.#logger = logger;
    this.#events = events;
  }

  /** How many attempts have failed, including those that were retried. */
  get failedAttempts(): number {
    return this.#failedAttempts;
  }

  get concurrency(): number {
    return this.#transport.concurrency ?? CONCURRENCY;
  }

  /** Delivers a mail. Rejects with the transport's error. */
  async deliver(message: MailMessage, mailable: Mailable | null, signal: AbortSignal): Promise<void> {
    const deliver = async () => this.#transport.deliver(message, { signal, mailable });
    const refused =
      (await traceDelivery(message, deliver).catch((error: unknown) => {
        this.#failedAttempts++;
        throw error;
      })) ?? [];
    if (refused.length > 0) {
      this.#logger.warn(
        { mailable: message.mailable, recipients: refused.map(maskedAddress) },
        "The mail server refused some recipients of a mail.",
      );
    }
    const recipients = recipientsOf(message).filter((address) => !refused.includes(address));
    const sent = { time: currentDate(), mailable: message.mailable, recipients, messageId: message.id };
    void this.#events?.emit("mail.sent", sent);
  }

  async attempt(message: MailMessage, mailable: Mailable | null, signal: AbortSignal): Promise<MailAttempt> {
    try {
      await this.deliver(message, mailable, signal);
      return { outcome: "sent" };
    } catch (error) {
      const failure = deliveryFailure(error, "delivering");
      return { outcome: signal.aborted ? "interrupted" : "failed", ...failure };
    }
  }

  postponed(message: MailMessage, reason: string, attempts: number, pauseMs: number): void {
    this.logPostponed(accountOf(message), reason, attempts, pauseMs);
  }

  failed(message: MailMessage, reason: string, attempts: number): void {
    this.giveUp(accountOf(message), { reason }, "A mail could not be sent.", attempts);
  }

  /** Logs that a mail will be tried again. */
  logPostponed(account: MailAccount, reason: string, attempts: number, pauseMs: number): void {
    const details = { ...masked(account), attempts, reason, retryInSeconds: Math.round(pauseMs) / 1000 };
    this.#logger.warn(details, "A mail could not be sent yet.");
  }

  /** Logs and announces that a mail was abandoned. */
  giveUp(account: MailAccount, { reason }: Pick<DeliveryFailure, "reason">, message: string, attempts?: number): void {
    this.#logger.error({ ...masked(account), reason, ...(attempts === undefined ? {} : { attempts }) }, message);
    this.announceFailure(account, reason);
  }

  /** Announces that a mail was not sent. */
  announceFailure(account: MailAccount, reason: string): void {
    void this.#events?.emit("mail.failed", { time: currentDate(), ...account, reason });
  }
}

/**
 * Security: addresses are personal data, and more people read a log than a mailbox. Events contain the full address.
 */
function masked({ mailable, recipients }: MailAccount): MailAccount {
  return { mailable, recipients: recipients.map(maskedAddress) };
}

function accountOf(message: MailMessage): MailAccount {
  return { mailable: message.mailable, recipients: recipientsOf(message) };
}
