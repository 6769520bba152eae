import type { MailMessage } from "../../src/mail/message/mail-message.ts";

/** A text mail with default values for everything except the given parts. */
export function mailMessage(parts: Partial<MailMessage> = {}): MailMessage {
  return {
    id: "1@shop.example",
    date: new Date(Date.UTC(2026, 2, 1, 12)),
    mailable: "Note",
    from: { address: "shop@shop.example", name: null },
    to: [{ address: "jane@shop.example", name: null }],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: "A note",
    text: "Hello",
    html: null,
    attachments: [],
    ...parts,
  };
}
