import type { MailAddress } from "./mail-address.ts";

/** A mail that is ready to be sent: composed, checked and frozen. Every attempt sends the same message. */
export interface MailMessage {
  /** The mail's `Message-ID`, without the angle brackets (RFC 5322 §3.6.4). */
  readonly id: string;
  readonly date: Date;
  /** The name of the class that it was composed from. */
  readonly mailable: string;
  readonly from: { readonly address: string; readonly name: string | null };
  readonly to: readonly MailMessage["from"][];
  readonly cc: readonly MailMessage["from"][];
  readonly bcc: readonly MailMessage["from"][];
  readonly replyTo: readonly MailMessage["from"][];
  readonly subject: string;
  readonly text: string;
  /** `null` if the mail is text only. */
  readonly html: string | null;
  readonly attachments: readonly {
    /** The file name that the reader sees. */
    readonly filename: string;
    readonly content: string | Uint8Array;
    /** The media type, such as `application/pdf`; default: derived from the file name. */
    readonly contentType?: string;
  }[];
  /** The application's own header fields, checked; missing in mails that an older version has queued. */
  readonly headers?: readonly { readonly name: string; readonly value: string }[];
}

/** A file attached to a mail. */
export type MailAttachment = MailMessage["attachments"][number];

/** The addresses for display, without names: `jane@shop.example, joe@shop.example`. */
export function addressLine(addresses: readonly MailAddress[]): string {
  return addresses.map(({ address }) => address).join(", ");
}

/** The addresses of all recipients. */
export function recipientsOf({ to, cc, bcc }: Pick<MailMessage, "to" | "cc" | "bcc">): string[] {
  return [...to, ...cc, ...bcc].map(({ address }) => address);
}
