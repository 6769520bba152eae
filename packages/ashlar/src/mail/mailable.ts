import type { QueryParameters, RouteParameters } from "../http/index.ts";
import { AshlarError } from "../support/index.ts";
import { headerText, type MailAddress, mailAddress } from "./mail-address.ts";
import type { MailLinks, SignedLinkOptions } from "./mail-links.ts";
import type { MailAttachment } from "./mail-message.ts";

/** The views a mail is made of, and what they are given. */
export interface MailContent {
  /** The view of the text, such as `mail/welcome.text`. Every mail has one: it is what many readers and all filters see. */
  readonly text: string;
  /** The view of the HTML, such as `mail/welcome.html`; left out where the mail is text alone. */
  readonly html?: string;
  /** Values for both views, by name. */
  readonly data?: object;
}

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;

type Role = "to" | "cc" | "bcc" | "replyTo";

/**
 * A mail as a class: its subject, its views, and what they need.
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
 * mailer.queue(new OrderShipped(order), customer.email);
 * ```
 *
 * Besides its data a view knows `app.name`, `app.url`, `subject`, and `url()`, `route()` and `signedRoute()`, which make
 * absolute URLs. A view of text prints what it is given as it is; a view of HTML escapes it.
 *
 * A static `preview()`, which makes one with sample data, shows the mail at `/dev/mailbox/preview` in development.
 */
export abstract class Mailable {
  readonly #recipients: Readonly<Record<Role, MailAddress[]>> = { to: [], cc: [], bcc: [], replyTo: [] };
  readonly #attachments: MailAttachment[] = [];
  #from: MailAddress | null = null;
  #links: MailLinks | null = null;

  /**
   * The subject, in one line.
   *
   * Security: a line break in it is refused when the mail is composed, and then no mail is sent.
   */
  abstract subject(): string;

  /** The views and what they are given. */
  abstract content(): MailContent;

  /**
   * Adds a recipient.
   *
   * @throws `E_INVALID_MAIL` where it is no address, or the name holds a line break
   */
  to(address: string, name?: string): this {
    return this.#add("to", address, name, "The recipient");
  }

  /** Adds a recipient of a copy; see {@link Mailable.to}. */
  cc(address: string, name?: string): this {
    return this.#add("cc", address, name, "The recipient of a copy");
  }

  /** Adds a recipient of a copy whom the others do not see; see {@link Mailable.to}. */
  bcc(address: string, name?: string): this {
    return this.#add("bcc", address, name, "The recipient of a blind copy");
  }

  /** Adds an address that answers go to; see {@link Mailable.to}. */
  replyTo(address: string, name?: string): this {
    return this.#add("replyTo", address, name, "The address for answers");
  }

  /** Sets the sender, in place of `MAIL.from`; see {@link Mailable.to}. */
  from(address: string, name?: string): this {
    this.#from = mailAddress({ address, name: name ?? null }, "The sender");
    return this;
  }

  /**
   * Adds a file.
   *
   * @throws `E_INVALID_MAIL` where its name holds a line break, or its type is none
   */
  attach(attachment: MailAttachment): this {
    headerText(attachment.filename, "The name of an attachment");
    if (attachment.contentType !== undefined && !MEDIA_TYPE.test(attachment.contentType)) {
      throw new AshlarError("E_INVALID_MAIL", "The type of an attachment looks like application/pdf.");
    }
    this.#attachments.push(Object.freeze({ ...attachment }));
    return this;
  }

  /** The absolute URL of a path of the application; see {@link MailLinks.url}. Only in `subject()` and `content()`. */
  protected url(path: string): string {
    return this.#linksOrThrow().url(path);
  }

  /** The absolute URL of a named route; see {@link MailLinks.route}. Only in `subject()` and `content()`. */
  protected route(name: string, parameters?: RouteParameters, query?: QueryParameters): string {
    return this.#linksOrThrow().route(name, parameters, query);
  }

  /** The signed URL of a named route; see {@link MailLinks.signedRoute}. Only in `subject()` and `content()`. */
  protected signedRoute(name: string, parameters?: RouteParameters, options?: SignedLinkOptions): string {
    return this.#linksOrThrow().signedRoute(name, parameters, options);
  }

  /** @internal What was set on the mail so far. */
  envelope(): MailEnvelope {
    return { ...this.#recipients, from: this.#from, attachments: this.#attachments };
  }

  /** @internal Asks for subject and content, which may make links meanwhile. */
  parts(links: MailLinks): MailParts {
    this.#links = links;
    try {
      return {
        subject: headerText(this.subject(), `The subject of ${this.constructor.name}`),
        content: this.content(),
      };
    } finally {
      this.#links = null;
    }
  }

  #add(role: Role, address: string, name: string | undefined, what: string): this {
    this.#recipients[role].push(mailAddress({ address, name: name ?? null }, what));
    return this;
  }

  #linksOrThrow(): MailLinks {
    if (this.#links !== null) return this.#links;
    throw new AshlarError(
      "E_INVALID_MAIL",
      `${this.constructor.name} makes a link too early: call url(), route() and signedRoute() in subject() or content().`,
    );
  }
}

/** @internal Who a mailable is from and goes to, and the files with it. */
export interface MailEnvelope extends Readonly<Record<Role, readonly MailAddress[]>> {
  readonly from: MailAddress | null;
  readonly attachments: readonly MailAttachment[];
}

/** @internal What a mailable says. */
export interface MailParts {
  readonly subject: string;
  readonly content: MailContent;
}

/** The class of a mailable. */
export type MailableClass<T extends Mailable = Mailable> = abstract new (...args: never[]) => T;
