import { AssertionError } from "node:assert";
import { Mailable, type MailableClass } from "../composing/mailable.ts";
import { addressLine, type MailAttachment, type MailMessage } from "../message/mail-message.ts";
import type { Delivery, MailTransport } from "./mail-transport.ts";

/** A mail for a test to inspect. Addresses have no names; several are joined as `a@shop.example, b@shop.example`. */
export interface CapturedMail {
  readonly to: string;
  readonly cc: string;
  readonly bcc: string;
  readonly from: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
  readonly attachments: readonly MailAttachment[];
  /** The mail's own header fields, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Selects mails: those of a class, or those that the function accepts. */
export type MailMatch = MailableClass | ((mail: CapturedMail) => boolean);

interface Capture {
  readonly mail: CapturedMail;
  /** `null` if another process has composed the mail; then only the class's name is known. */
  readonly mailable: Mailable | null;
  readonly className: string;
}

/** Keeps mails instead of sending them, for tests. */
export class MemoryTransport implements MailTransport {
  #captures: Capture[] = [];

  deliver(message: MailMessage, { mailable }: Pick<Delivery, "mailable">): Promise<readonly string[]> {
    const { subject, text, html, attachments } = message;
    const [to, cc, bcc] = [message.to, message.cc, message.bcc].map(addressLine) as [string, string, string];
    const headers = Object.freeze(
      Object.fromEntries((message.headers ?? []).map(({ name, value }) => [name.toLowerCase(), value])),
    );
    const mail = { to, cc, bcc, from: message.from.address, subject, text, html, attachments, headers };
    this.#captures.push({ mail: Object.freeze(mail), mailable, className: message.mailable });
    return Promise.resolve([]);
  }

  close(): void {}

  /** The mails that have been sent so far, oldest first. */
  get captured(): readonly CapturedMail[] {
    return this.#captures.map(({ mail }) => mail);
  }

  clear(): void {
    this.#captures = [];
  }

  /** @throws `AssertionError` if no mail matches */
  assertSent(match: MailMatch): CapturedMail {
    const found = this.#captures.find((capture) => matches(match, capture));
    if (found !== undefined) return found.mail;
    const wanted = isMailableClass(match) ? `No ${match.name} was sent.` : "No matching mail was sent.";
    throw failure(`${wanted} ${this.#account()}`, this.assertSent);
  }

  /** @throws `AssertionError` if a mail was sent */
  assertNothingSent(): void {
    if (this.#captures.length === 0) return;
    throw failure(this.#account(), this.assertNothingSent);
  }

  #account(): string {
    if (this.#captures.length === 0) return "No mails were sent.";
    const lines = this.#captures.map(({ mail, className }) => `  ${className} to ${mail.to}: ${mail.subject}`);
    return `Sent mails:\n${lines.join("\n")}`;
  }
}

/** Keeps mails in memory. This is the default in tests, and refused in production. */
export function memoryTransport(): () => MailTransport {
  return () => new MemoryTransport();
}

/** An assertion error with the test's stack. */
export function failure(message: string, stackStartFn: (...args: never[]) => unknown): AssertionError {
  return new AssertionError({ message, stackStartFn });
}

function matches(match: MailMatch, { mail, mailable, className }: Capture): boolean {
  if (!isMailableClass(match)) return match(mail);
  return mailable === null ? match === Mailable || className === match.name : mailable instanceof match;
}

function isMailableClass(match: MailMatch): match is MailableClass {
  return match === Mailable || match.prototype instanceof Mailable;
}
