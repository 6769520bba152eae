import type { Container, Logger } from "../../kernel/index.ts";
import { addressLine, type MailMessage } from "../message/mail-message.ts";
import type { MailTransport } from "../transports/mail-transport.ts";

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
 * Security: anyone who can open the mailbox can read every mail, including reset links.
 */
export class Mailbox implements MailTransport {
  readonly #logger: Logger;
  readonly #capacity: number;
  readonly #mails: KeptMail[] = [];
  #count = 0;
  #print: ((line: string) => void) | null = null;

  /** @param capacity the number of mails to keep */
  constructor(logger: Logger, capacity: number = DEFAULT_CAPACITY) {
    this.#logger = logger;
    this.#capacity = capacity;
  }

  deliver(message: MailMessage): Promise<readonly string[]> {
    const id = String(++this.#count);
    this.#mails.unshift({ id, message });
    if (this.#mails.length > this.#capacity) this.#mails.pop();
    if (this.#print === null) {
      const path = `${MAILBOX_PREFIX}/${id}`;
      this.#logger.info({ mailable: message.mailable, path }, "A mail was added to the mailbox.");
    } else {
      for (const line of printed(message)) this.#print(line);
    }
    return Promise.resolve([]);
  }

  close(): void {}

  /** Prints further mails instead of logging their paths. */
  printTo(print: (line: string) => void): void {
    this.#print = print;
  }

  /** The mails, newest first. */
  get mails(): readonly KeptMail[] {
    return this.#mails;
  }

  /** Returns the mail with an id, or `null`. */
  find(id: string): KeptMail | null {
    return this.#mails.find((mail) => mail.id === id) ?? null;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters.
const CONTROL_CHARACTERS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * The lines that show a mail on a terminal, without control characters from a visitor, which the terminal would obey.
 */
function printed({ to, subject, text }: MailMessage): string[] {
  const what = "A mail, which in development is printed and not sent:";
  const lines = [what, "", `To: ${addressLine(to)}`, `Subject: ${subject}`, "", ...text.trimEnd().split("\n"), ""];
  return lines.map((line) => line.replaceAll(CONTROL_CHARACTERS, ""));
}

/** The mailboxes, by the container of their application. */
const mailboxes = new WeakMap<Container, Mailbox>();

/** Assigns a mailbox to an application. */
export function useMailbox(container: Container, mailbox: Mailbox): void {
  mailboxes.set(container, mailbox);
}

/**
 * Prints the mails that would go to an application's mailbox, if it has one. Commands call this, because their mailbox
 * ends with the process, and no page shows it.
 */
export function printMails(container: Container, print: (line: string) => void): void {
  mailboxes.get(container)?.printTo(print);
}

/** Keeps mails at `/dev/mailbox`. This is the default in development, and refused in other environments. */
export function mailbox(): (container: Container) => MailTransport {
  return (container) => new Mailbox(container.make("logger"));
}
