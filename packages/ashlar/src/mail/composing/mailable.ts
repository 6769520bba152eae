import type { QueryParameters, RouteParameters } from "../../http/index.ts";
import type { Catalogue, Translate } from "../../messages/index.ts";
import { AshlarError } from "../../support/index.ts";
import { headerText, type MailAddress, mailAddress } from "../message/mail-address.ts";
import { type MailHeader, mailHeader } from "../message/mail-header.ts";
import type { MailAttachment } from "../message/mail-message.ts";
import type { MailLinks, SignedLinkOptions } from "./mail-links.ts";
import "../errors.ts";

/** A mail's views and their data, or its text. */
export interface MailContent {
  /**
   * The text view, such as `mail/welcome.text`. Every mail needs it or {@link plainText}, because many recipients and
   * all spam filters read the text.
   */
  readonly text?: string;
  /** The text itself, for an application without views. */
  readonly plainText?: string;
  /** The HTML view, such as `mail/welcome.html`. Without it, the mail is text only. */
  readonly html?: string;
  /** Values for both views, by name. */
  readonly data?: object;
}

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;

const LINKS = "creates a link too early: call url(), route() and signedRoute()";

type Role = "to" | "cc" | "bcc" | "replyTo";

/**
 * A mail as a class: its subject, its views, and their data.
 *
 * ```ts
 * export class OrderShipped extends Mailable {
 *   readonly order: Order;
 *
 *   constructor(order: Order) {
 *     super();
 *     this.order = order;
 *   }
 *
 *   override subject(): string {
 *     return `Your order ${this.order.number} is on its way`;
 *   }
 *
 *   override content(): MailContent {
 *     const link = this.route("orders.show", { id: this.order.id });
 *     return { text: "mail/shipped.text", html: "mail/shipped.html", data: { order: this.order, link } };
 *   }
 * }
 *
 * // in a handler
 * await context.mail.queue(new OrderShipped(order), customer.email);
 * ```
 *
 * Elsewhere, in a provider or a command, `application.container.make("mail")` is the same mailer.
 *
 * In addition to its data, a view has `app.name`, `app.url`, `subject`, `language`, `direction`, `t()`, which translates into that
 * language, and `url()`, `route()` and `signedRoute()`, which return absolute URLs. A text view prints values unchanged; an
 * HTML view escapes them.
 *
 * If the class has a static `preview()` that creates a mail with sample data, `/dev/mailbox/preview` shows it in
 * development. This applies to classes exported by files in `app/mailables`, and to those that features declare in
 * `accountMails`.
 */
export abstract class Mailable {
  readonly #recipients: Readonly<Record<Role, MailAddress[]>> = { to: [], cc: [], bcc: [], replyTo: [] };
  readonly #attachments: MailAttachment[] = [];
  readonly #headers = new Map<string, MailHeader>();
  #from: MailAddress | null = null;
  #language: string | null = null;
  #help: MailHelp | null = null;

  /**
   * Returns the subject, on one line.
   *
   * Security: if it contains a line break, composing fails and no mail is sent.
   */
  abstract subject(): string;

  /** Returns the views and their data, or the text. */
  abstract content(): MailContent;

  /**
   * Adds a recipient.
   *
   * @throws `E_INVALID_MAIL` if the address is invalid, or the name contains a line break
   */
  to(address: string, name?: string): this {
    return this.#add("to", address, name, "The recipient");
  }

  /** Adds a recipient of a copy; see {@link Mailable.to}. */
  cc(address: string, name?: string): this {
    return this.#add("cc", address, name, "The recipient of a copy");
  }

  /** Adds a blind copy's recipient, hidden from the others; see {@link Mailable.to}. */
  bcc(address: string, name?: string): this {
    return this.#add("bcc", address, name, "The recipient of a blind copy");
  }

  /** Adds an address for replies; see {@link Mailable.to}. */
  replyTo(address: string, name?: string): this {
    return this.#add("replyTo", address, name, "The reply address");
  }

  /**
   * Sets the mail's language; by default, it is the application's default language.
   *
   * @param language a language tag (BCP 47), such as `de`
   */
  inLanguage(language: string): this {
    this.#language = language;
    return this;
  }

  /** Sets the sender, instead of `MAIL.from`; see {@link Mailable.to}. */
  from(address: string, name?: string): this {
    this.#from = mailAddress({ address, name: name ?? null }, "The sender");
    return this;
  }

  /**
   * Adds a file.
   *
   * @throws `E_INVALID_MAIL` if its name contains a line break, or its type is not a media type
   */
  attach(attachment: MailAttachment): this {
    headerText(attachment.filename, "The name of an attachment");
    if (attachment.contentType !== undefined && !MEDIA_TYPE.test(attachment.contentType)) {
      throw new AshlarError(
        "E_INVALID_MAIL",
        "The type of an attachment must be a media type, such as application/pdf.",
      );
    }
    this.#attachments.push(Object.freeze({ ...attachment }));
    return this;
  }

  /**
   * Sets a header field, such as your mail service's tag. Replaces an earlier field with the same name.
   *
   * ```ts
   * class LampsMail extends Mailable {
   *   override subject(): string {
   *     return "New lamps";
   *   }
   *   override content(): MailContent {
   *     return { plainText: "They are here." };
   *   }
   * }
   *
   * await context.mail.queue(new LampsMail().header("X-PM-Tag", "lamps"), customer.email);
   * ```
   *
   * @param name letters, digits and hyphens; not a field that the mailer writes, such as `From`, `Subject` or
   * `Content-Type`
   * @param value one line of up to 900 ASCII characters
   * @throws `E_INVALID_MAIL`
   */
  header(name: string, value: string): this {
    this.#headers.set(name.toLowerCase(), mailHeader(name, value));
    return this;
  }

  /**
   * Returns further header fields by name. It is called when the mail is composed, so values may contain links. For a
   * newsletter with one-click unsubscribe (RFC 8058):
   *
   * ```ts
   * class NewsMail extends Mailable {
   *   override subject(): string {
   *     return "News";
   *   }
   *   override content(): MailContent {
   *     return { plainText: "New lamps are here." };
   *   }
   *   override headers(): Record<string, string> {
   *     const link = this.signedRoute("orders.show", { id: 7 });
   *     return { "List-Unsubscribe": `<${link}>`, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" };
   *   }
   * }
   * ```
   *
   * @throws `E_INVALID_MAIL` when the mail is composed, for what {@link Mailable.header} refuses
   */
  headers(): Readonly<Record<string, string>> {
    return {};
  }

  /** Returns the absolute URL of a path of the application, such as `/orders/7`. Only in `subject()`, `content()` and `headers()`. */
  protected url(path: string): string {
    return this.#helpOrThrow(LINKS).links.url(path);
  }

  /** Returns the absolute URL of a named route. Only in `subject()`, `content()` and `headers()`. */
  protected route(name: string, parameters?: RouteParameters, query?: QueryParameters): string {
    return this.#helpOrThrow(LINKS).links.route(name, parameters, query);
  }

  /** Returns the signed URL of a named route. Only in `subject()`, `content()` and `headers()`. */
  protected signedRoute(name: string, parameters?: RouteParameters, options?: SignedLinkOptions): string {
    return this.#helpOrThrow(LINKS).links.signedRoute(name, parameters, options);
  }

  /** Translates into the mail's language: `this.t("app.orders.shipped", { number })`. Only in `subject()`, `content()` and `headers()`. */
  protected get t(): Translate {
    return this.#helpOrThrow("uses t() too early: call it").t;
  }

  /** @internal Returns the mail's contents so far. */
  envelope(): MailEnvelope {
    return { ...this.#recipients, from: this.#from, attachments: this.#attachments };
  }

  /**
   * @internal Calls `subject()`, `content()` and `headers()`, which can create links and translate only during this
   * call.
   */
  draft(links: MailLinks, messages: Catalogue): MailDraft {
    const language = this.#language ?? messages.defaultLanguage;
    const t = messages.translator(language);
    this.#help = { links, t };
    try {
      return {
        language,
        t,
        subject: headerText(this.subject(), `The subject of ${this.constructor.name}`),
        content: this.content(),
        headers: this.#allHeaders(),
      };
    } finally {
      this.#help = null;
    }
  }

  #allHeaders(): readonly MailHeader[] {
    const all = new Map(this.#headers);
    for (const [name, value] of Object.entries(this.headers())) all.set(name.toLowerCase(), mailHeader(name, value));
    return Object.freeze([...all.values()]);
  }

  #add(role: Role, address: string, name: string | undefined, what: string): this {
    this.#recipients[role].push(mailAddress({ address, name: name ?? null }, what));
    return this;
  }

  #helpOrThrow(early: string): MailHelp {
    if (this.#help !== null) return this.#help;
    throw new AshlarError("E_INVALID_MAIL", `${this.constructor.name} ${early} in subject(), content() or headers().`);
  }
}

/** The services that a mailable can use while it is composed. */
interface MailHelp {
  readonly links: MailLinks;
  readonly t: Translate;
}

/** @internal A mailable's sender, recipients and files. */
export interface MailEnvelope extends Readonly<Record<Role, readonly MailAddress[]>> {
  readonly from: MailAddress | null;
  readonly attachments: readonly MailAttachment[];
}

/** @internal A mailable's subject and content, in one language. */
export interface MailDraft {
  readonly language: string;
  /** Translates into that language. */
  readonly t: Translate;
  readonly subject: string;
  readonly content: MailContent;
  readonly headers: readonly MailHeader[];
}

/** The class of a mailable. */
export type MailableClass<T extends Mailable = Mailable> = abstract new (...args: never[]) => T;
