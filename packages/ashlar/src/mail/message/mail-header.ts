import { AshlarError } from "../../support/index.ts";
import "../errors.ts";
import type { MailMessage } from "./mail-message.ts";

/** A header field that the application has added to a mail. */
export type MailHeader = NonNullable<MailMessage["headers"]>[number];

/** RFC 5322 §2.2 allows printable ASCII without the colon; this is the part that servers and mail services accept. */
const NAME = /^[A-Za-z][A-Za-z0-9-]{0,75}$/;
/** A line may have at most 998 characters (RFC 5322 §2.1.1). Servers don't have to accept longer ones. */
const MAX_VALUE = 900;

/**
 * The fields that the framework, the transport or servers along the way write, such as the sender, recipients and type.
 * A second or different field would contradict what was checked.
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
 * Security: a value must be ASCII without line breaks, so that it can't be encoded or folded into another field.
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
