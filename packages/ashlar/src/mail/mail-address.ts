import { normalizeEmail } from "../security/index.ts";
import { AshlarError } from "../support/index.ts";

/** An email address in its normal form, and the name that is shown with it. */
export interface MailAddress {
  readonly address: string;
  /** `null` where there is none. */
  readonly name: string | null;
}

/** Whom a mail can be sent to: a bare address, or one with a name. Text is never read as `Name <address>` or as a list. */
export type MailRecipient = string | { readonly address: string; readonly name?: string | null };

/** What would end a header's line, or is no text at all: control characters, line separators, lone surrogates. */
const HEADER_TEXT_REFUSED = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u;

/**
 * Checks an address and the name with it.
 *
 * @param role what it is, for the message of the error, such as `The recipient`
 * @throws `E_INVALID_MAIL` where it is no address, or where the name holds a line break or another control character
 */
export function mailAddress(recipient: MailRecipient, role: string): MailAddress {
  const { address, name = null } = typeof recipient === "string" ? { address: recipient } : recipient;
  const normal = typeof address === "string" ? normalizeEmail(address) : null;
  if (normal === null) throw new AshlarError("E_INVALID_MAIL", `${role} is not an email address.`);
  const shown =
    name === null ? "" : headerText(name, `The name of ${role.charAt(0).toLowerCase()}${role.slice(1)}`).trim();
  return Object.freeze({ address: normal, name: shown === "" ? null : shown });
}

/** Checks one or several recipients; see {@link mailAddress}. */
export function mailAddresses(recipients: MailRecipient | readonly MailRecipient[], role: string): MailAddress[] {
  const list = isList(recipients) ? recipients : [recipients];
  return list.map((recipient) => mailAddress(recipient, role));
}

/**
 * Text that may stand in a header: with a line break in it, what follows would be a header of its own.
 *
 * @param what what it is, for the message of the error, such as `The subject`
 * @throws `E_INVALID_MAIL`
 */
export function headerText(text: string, what: string): string {
  if (typeof text !== "string") throw new AshlarError("E_INVALID_MAIL", `${what} is not text.`);
  if (!HEADER_TEXT_REFUSED.test(text)) return text;
  throw new AshlarError("E_INVALID_MAIL", `${what} holds a line break or another control character.`);
}

function isList(recipients: MailRecipient | readonly MailRecipient[]): recipients is readonly MailRecipient[] {
  return Array.isArray(recipients);
}
