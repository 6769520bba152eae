import type { SendMailOptions } from "nodemailer";
import type { MailAddress } from "./mail-address.ts";
import type { MailMessage } from "./mail-message.ts";

/** A mail as nodemailer takes it: addresses as objects, content as bytes, nothing that it would read from elsewhere. */
export function mimeOptions(message: MailMessage): SendMailOptions {
  return {
    messageId: `<${message.id}>`,
    date: message.date,
    from: named(message.from),
    to: message.to.map(named),
    cc: message.cc.map(named),
    bcc: message.bcc.map(named),
    replyTo: message.replyTo.map(named),
    subject: undecodable(message.subject),
    text: message.text,
    ...(message.html === null ? {} : { html: message.html }),
    attachments: message.attachments.map(({ filename, content, contentType }) => ({
      filename: undecodable(filename),
      content: Buffer.from(content),
      ...(contentType === undefined ? {} : { contentType }),
    })),
    // RFC 3834 §5: keeps out-of-office replies from answering a program.
    headers: { "Auto-Submitted": "auto-generated" },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** The mail as it travels: header and body (RFC 5322), without the blind copies' addresses. */
export async function mimeSource(message: MailMessage): Promise<string> {
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({ streamTransport: true, buffer: true });
  // This transport alone would write the blind copies down.
  const { message: source } = await transport.sendMail({ ...mimeOptions(message), bcc: [] });
  return String(source);
}

function named({ address, name }: MailAddress): { address: string; name: string } {
  return { address, name: undecodable(name ?? "") };
}

/**
 * Text that no reader takes for an encoded word (RFC 2047 §2). Somebody may be called `=?utf-8?Q?=0D=0A…?=`: it would be
 * sent as it is, and decoded into the line break that it must not hold.
 */
function undecodable(text: string): string {
  return text.replaceAll("=?", "= ?");
}
