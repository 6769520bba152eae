import { randomUUID } from "node:crypto";
import { domainToASCII } from "node:url";
import type { Application } from "../../boot/index.ts";
import { type Catalogue, textDirection } from "../../messages/index.ts";
import { AshlarError, currentDate } from "../../support/index.ts";
import type { Views } from "../../views/index.ts";
import type { MailAddress } from "../message/mail-address.ts";
import type { MailMessage } from "../message/mail-message.ts";
import { MailLinks } from "./mail-links.ts";
import type { Mailable } from "./mailable.ts";
import "../errors.ts";

/** The dependencies of a mail composer. */
export interface MailComposerDependencies {
  /** Returns the view renderer; called only for mails with views. */
  readonly views: () => Views;
  readonly links: MailLinks;
  readonly messages: Catalogue;
  /** The sender of mails that don't set one. */
  readonly from: MailAddress;
  /** The application's data for views. */
  readonly app: { readonly name: string; readonly url: string };
}

/** Composes mails from mailables: calls their methods, renders their views, and checks the result. */
export class MailComposer {
  readonly #dependencies: MailComposerDependencies;

  constructor(dependencies: MailComposerDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Composes a mail.
   *
   * @param to recipients in addition to the mailable's own
   * @throws `E_INVALID_MAIL`, `E_VIEW`, and whatever the mailable throws
   */
  async compose(mailable: Mailable, to: readonly MailAddress[]): Promise<MailMessage> {
    const { links, messages, from: sender } = this.#dependencies;
    const envelope = mailable.envelope();
    requireRecipient(mailable, to);
    const { subject, content, headers, language, t } = mailable.draft(links, messages);
    const local = { ...this.#shared(subject), language, direction: textDirection(language), t };
    const render = (view: string) => this.#dependencies.views().render(view, content.data ?? {}, local);
    const text = content.plainText ?? unescaped(await render(viewOf(mailable, content.text)));
    const html = content.html === undefined ? null : await render(content.html);
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
      text: text.trim(),
      html,
      attachments: Object.freeze([...envelope.attachments]),
      headers,
    });
  }

  #shared(subject: string): object {
    const { app, links } = this.#dependencies;
    return {
      app,
      subject,
      url: links.url.bind(links),
      route: links.route.bind(links),
      signedRoute: links.signedRoute.bind(links),
    };
  }
}

/** Creates an application's mail composer. @param from the sender of mails that don't set one */
export function composerOf(application: Application, from: MailAddress): MailComposer {
  const { container, messages, settings } = application;
  return new MailComposer({
    views: () => container.make("views"),
    links: new MailLinks(
      () => application.linkOrigin.current,
      () => application.router,
    ),
    messages,
    from,
    app: {
      name: settings.name,
      get url() {
        return application.url;
      },
    },
  });
}

/**
 * Refuses a mail without recipients.
 *
 * @throws `E_INVALID_MAIL`
 */
export function requireRecipient(mailable: Mailable, to: readonly MailAddress[]): void {
  const { to: own, cc, bcc } = mailable.envelope();
  if (own.length + to.length + cc.length + bcc.length > 0) return;
  const name = mailable.constructor.name;
  throw new AshlarError("E_INVALID_MAIL", `${name} has no recipient. Pass one: mailer.send(mailable, user.email).`);
}

function viewOf(mailable: Mailable, text: string | undefined): string {
  if (text) return text;
  throw new AshlarError(
    "E_INVALID_MAIL",
    `${mailable.constructor.name} has no text view. Add one: { text: "mail/welcome.text", html: … }.`,
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

/** Undoes HTML escaping, which views always apply. In plain text, O&#x27;Brien has to be O'Brien again. */
function unescaped(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#x27|#x60);/g, (entity) => ESCAPED[entity]!);
}
