import { AshlarError } from "../../support/index.ts";
import "../errors.ts";
import type { MailMessage } from "./mail-message.ts";

/** A header field of a mail that its author has added. */
export type MailHeader = NonNullable<MailMessage["headers"]>[number];

/** RFC 5322 §2.2: printable ASCII without the colon; of those, what servers and services accept. */
const NAME = /^[A-Za-z][A-Za-z0-9-]{0,75}$/;
/** RFC 5322 §2.1.1: a line has at most 998 characters. Of a longer value, no server has to take the line. */
const MAX_VALUE = 900;

/**
 * The fields that the framework, the transport or servers along the way write: a mail's sender, recipients, type and
 * history. A second one, or another one, would contradict what was checked.
 */
const OWNED: ReadonlySet<string> = new Set([
  "apparently-to",
  "authentication-results",
  "auto-submitted",
  "bcc",
  "cc",
  "date",
  "delivered-to",
  "dkim-signature",
  "from",
  "message-id",
  "received",
  "received-spf",
  "reply-to",
  "return-path",
  "sender",
  "subject",
  "to",
]);
const OWNED_GROUPS = /^(?:arc|content|dkim|domainkey|mime|resent)-/;

/**
 * Checks a header field.
 *
 * Security: a value has no line break, and is ASCII, so that nothing encodes or folds it into another field.
 *
 * @throws `E_INVALID_MAIL`
 */
export function mailHeader(name: string, value: string): MailHeader {
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new AshlarError(
      "E_INVALID_MAIL",
      "The name of a header has letters, digits and hyphens, and begins with a letter.",
    );
  }
  const key = name.toLowerCase();
  if (OWNED.has(key) || OWNED_GROUPS.test(key)) {
    throw new AshlarError(
      "E_INVALID_MAIL",
      `The header ${name} is written by the mailer. Use the methods of Mailable.`,
    );
  }
  if (typeof value !== "string" || !/^[!-~](?:[ -~]*[!-~])?$/.test(value) || value.length > MAX_VALUE) {
    const rule = `is one line of 1 to ${MAX_VALUE} ASCII characters, without spaces around it`;
    throw new AshlarError("E_INVALID_MAIL", `The value of the header ${name} ${rule}.`);
  }
  return Object.freeze({ name, value });
}
