import type { SendMailOptions } from "nodemailer";
import type { MailAddress } from "./mail-address.ts";
import type { MailMessage } from "./mail-message.ts";

/**
 * A mail as nodemailer expects it: addresses as objects, content as bytes, and nothing that nodemailer would have to
 * read from a file or URL.
 */
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
      // As bytes, so that text that looks encoded stays unchanged.
      filename,
      content: Buffer.from(content),
      ...(contentType === undefined ? {} : { contentType }),
    })),
    // Prevents out-of-office replies (RFC 3834 §5).
    headers: [{ key: "Auto-Submitted", value: "auto-generated" }, ...own(message)],
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/**
 * The application's own fields, which are ASCII. They are marked as prepared, because a link must not be folded or
 * encoded (RFC 8058 §3.1).
 */
function own({ headers = [] }: MailMessage): { key: string; value: { prepared: true; value: string } }[] {
  return headers.map(({ name, value }) => ({ key: name, value: { prepared: true, value } }));
}

/** The mail as transmitted: header and body (RFC 5322), without the addresses of blind copies. */
export async function mimeSource(message: MailMessage): Promise<string> {
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({ streamTransport: true, buffer: true });
  // Unlike the others, this transport would write the blind copies into the header.
  const { message: source } = await transport.sendMail({ ...mimeOptions(message), bcc: [] });
  return String(source);
}

function named({ address, name }: MailAddress): { address: string; name: string } {
  return { address, name: undecodable(name ?? "") };
}

/**
 * Changes text so that no mail client reads it as an encoded word (RFC 2047 §2). Otherwise, a name such as
 * `=?utf-8?Q?=0D=0A…?=` would be sent unchanged, and decoded into a line break, which names must not contain.
 */
function undecodable(text: string): string {
  return text.replaceAll("=?", "= ?");
}
