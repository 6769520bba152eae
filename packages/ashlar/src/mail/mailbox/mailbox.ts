import type { Logger } from "../../kernel/index.ts";
import type { MailMessage } from "../mail-message.ts";
import type { MailTransport, MailTransportSource } from "../mail-transport.ts";

/** A mail in the mailbox. */
export interface KeptMail {
  /** A number, starting at 1. */
  readonly id: string;
  readonly message: MailMessage;
}

/** The path of the mailbox. */
export const MAILBOX_PREFIX = "/dev/mailbox";

const DEFAULT_CAPACITY = 200;

/**
 * Keeps the latest mails in memory instead of sending them, for development.
 *
 * Security: anyone who can open its pages can read every mail, including reset links.
 */
export class Mailbox implements MailTransport {
  readonly #logger: Logger;
  readonly #capacity: number;
  readonly #mails: KeptMail[] = [];
  #count = 0;

  /** @param capacity the number of mails to keep */
  constructor(logger: Logger, capacity: number = DEFAULT_CAPACITY) {
    this.#logger = logger;
    this.#capacity = capacity;
  }

  deliver(message: MailMessage): Promise<readonly string[]> {
    const id = String(++this.#count);
    this.#mails.unshift({ id, message });
    if (this.#mails.length > this.#capacity) this.#mails.pop();
    this.#logger.info(
      { mailable: message.mailable, path: `${MAILBOX_PREFIX}/${id}` },
      "A mail was added to the mailbox.",
    );
    return Promise.resolve([]);
  }

  close(): void {}

  /** The mails, newest first. */
  get mails(): readonly KeptMail[] {
    return this.#mails;
  }

  /** Returns the mail with an id, or `null`. */
  find(id: string): KeptMail | null {
    return this.#mails.find((mail) => mail.id === id) ?? null;
  }
}

/** Keeps mails at `/dev/mailbox`: the default in development, refused elsewhere. */
export function mailbox(): MailTransportSource {
  return (container) => new Mailbox(container.make("logger"));
}
