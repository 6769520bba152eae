import { normalizeEmail } from "../../security/index.ts";
import { AshlarError } from "../../support/index.ts";
import "../errors.ts";

/** A normalized email address and its display name. */
export interface MailAddress {
  readonly address: string;
  /** `null` if there isn't one. */
  readonly name: string | null;
}

/** A recipient: a bare address, or one with a name. Text is never parsed as `Name <address>` or as a list. */
export type MailRecipient = string | { readonly address: string; readonly name?: string | null };

/** Characters that could end a header line, or aren't valid text: control characters, line separators, lone surrogates. */
const HEADER_TEXT_REFUSED = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u;

/**
 * Checks an address and its name.
 *
 * @param role the address's role for the error message, such as `The recipient`
 * @throws `E_INVALID_MAIL` if the address is invalid, or the name contains a line break or another control character
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
 * Checks the text of a header. If it had a line break, the rest would become a separate header.
 *
 * @param what the text's name for the error message, such as `The subject`
 * @throws `E_INVALID_MAIL`
 */
export function headerText(text: string, what: string): string {
  if (typeof text !== "string") throw new AshlarError("E_INVALID_MAIL", `${what} is not text.`);
  if (!HEADER_TEXT_REFUSED.test(text)) return text;
  throw new AshlarError("E_INVALID_MAIL", `${what} contains a line break or another control character.`);
}

function isList(recipients: MailRecipient | readonly MailRecipient[]): recipients is readonly MailRecipient[] {
  return Array.isArray(recipients);
}
