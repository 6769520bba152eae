import { randomUUID } from "node:crypto";
import { domainToASCII } from "node:url";
import { AshlarError, currentDate } from "../support/index.ts";
import type { Views } from "../views/index.ts";
import type { MailAddress } from "./mail-address.ts";
import type { MailLinks } from "./mail-links.ts";
import type { MailMessage } from "./mail-message.ts";
import type { Mailable } from "./mailable.ts";

/** What mails are composed with. */
export interface MailComposerParts {
  readonly views: Views;
  readonly links: MailLinks;
  /** Who a mail is from that does not say so itself. */
  readonly from: MailAddress;
  /** What views know of the application. */
  readonly app: { readonly name: string; readonly url: string };
}

/** Makes mails of mailables: asks them for their parts, renders their views, checks everything. */
export class MailComposer {
  readonly #parts: MailComposerParts;

  constructor(parts: MailComposerParts) {
    this.#parts = parts;
  }

  /**
   * Composes a mail.
   *
   * @param to recipients besides those of the mailable
   * @throws `E_INVALID_MAIL`, `E_VIEW`, and what the mailable throws
   */
  async compose(mailable: Mailable, to: readonly MailAddress[]): Promise<MailMessage> {
    const { links, from: sender } = this.#parts;
    const envelope = mailable.envelope();
    requireRecipient(mailable, to);
    const { subject, content } = mailable.parts(links);
    const local = this.#shared(subject);
    const data = content.data ?? {};
    const text = await this.#parts.views.render(viewOf(mailable, content.text), data, local);
    const html = content.html === undefined ? null : await this.#parts.views.render(content.html, data, local);
    const from = envelope.from ?? sender;
    return Object.freeze({
      id: `${randomUUID()}@${domainToASCII(from.address.slice(from.address.lastIndexOf("@") + 1))}`,
      date: currentDate(),
      mailable: mailable.constructor.name,
      from,
      to: Object.freeze([...envelope.to, ...to]),
      cc: Object.freeze([...envelope.cc]),
      bcc: Object.freeze([...envelope.bcc]),
      replyTo: Object.freeze([...envelope.replyTo]),
      subject,
      text: unescaped(text).trim(),
      html,
      attachments: Object.freeze([...envelope.attachments]),
    });
  }

  #shared(subject: string): object {
    const { app, links } = this.#parts;
    return {
      app,
      subject,
      url: links.url.bind(links),
      route: links.route.bind(links),
      signedRoute: links.signedRoute.bind(links),
    };
  }
}

/**
 * Refuses a mail that nobody would get.
 *
 * @throws `E_INVALID_MAIL`
 */
export function requireRecipient(mailable: Mailable, to: readonly MailAddress[]): void {
  const { to: own, cc, bcc } = mailable.envelope();
  if (own.length + to.length + cc.length + bcc.length > 0) return;
  const name = mailable.constructor.name;
  throw new AshlarError("E_INVALID_MAIL", `${name} has no recipient. Say whom: mailer.send(mailable, user.email).`);
}

function viewOf(mailable: Mailable, text: string | undefined): string {
  if (text) return text;
  throw new AshlarError(
    "E_INVALID_MAIL",
    `${mailable.constructor.name} has no view of its text. Add one: { text: "mail/welcome.text", html: … }.`,
  );
}

const ESCAPED: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
  "&#x60;": "`",
};

/** The views escape what they print for HTML. Text is no HTML: there O&#x27;Brien is called O'Brien. */
function unescaped(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#x27|#x60);/g, (entity) => ESCAPED[entity]!);
}
