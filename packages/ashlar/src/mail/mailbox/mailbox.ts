import type { Logger } from "../../kernel/index.ts";
import type { MailMessage } from "../mail-message.ts";
import type { MailTransport, MailTransportSource } from "../mail-transport.ts";

/** A mail in the mailbox. */
export interface KeptMail {
  /** Counted from 1. */
  readonly id: string;
  readonly message: MailMessage;
}

/** Where the mailbox is. */
export const MAILBOX_PREFIX = "/dev/mailbox";

const DEFAULT_CAPACITY = 200;

/**
 * Keeps the latest mails in memory instead of sending them, for development.
 *
 * Security: whoever reaches its pages reads every mail, reset links included.
 */
export class Mailbox implements MailTransport {
  readonly #logger: Logger;
  readonly #capacity: number;
  readonly #mails: KeptMail[] = [];
  #count = 0;

  /** @param capacity how many mails are kept */
  constructor(logger: Logger, capacity: number = DEFAULT_CAPACITY) {
    this.#logger = logger;
    this.#capacity = capacity;
  }

  deliver(message: MailMessage): Promise<readonly string[]> {
    const id = String(++this.#count);
    this.#mails.unshift({ id, message });
    if (this.#mails.length > this.#capacity) this.#mails.pop();
    this.#logger.info({ mailable: message.mailable, path: `${MAILBOX_PREFIX}/${id}` }, "A mail is in the mailbox.");
    return Promise.resolve([]);
  }

  close(): void {}

  /** The mails, the newest first. */
  get mails(): readonly KeptMail[] {
    return this.#mails;
  }

  /** The mail with a number, or `null`. */
  find(id: string): KeptMail | null {
    return this.#mails.find((mail) => mail.id === id) ?? null;
  }
}

/** Keeps mails at `/dev/mailbox`: the default in development, and refused elsewhere. */
export function mailbox(): MailTransportSource {
  return (container) => new Mailbox(container.make("logger"));
}
