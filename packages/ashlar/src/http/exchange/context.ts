import type { Translate } from "../../messages/index.ts";
import { AshlarError, type Message, type RegisteredUser } from "../../support/index.ts";
import { peerAddress, setPeerAddress } from "../addresses/client-address.ts";
import { baseOf, markBase } from "../addresses/request-url.ts";
import { HttpRequest } from "./request.ts";
import { HttpResponse } from "./response.ts";
import type { HttpServices, RouteMatch } from "./services.ts";

/**
 * Data about a visitor that is kept between requests. The feature that keeps the data declares it by declaration
 * merging; the layers below only pass it on.
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that the feature can augment it.
export interface Visitor {}

/** The page of a form that was refused, but may be sent again from there. */
export interface PageToReturnTo {
  /** Its path and query. */
  readonly url: string;
  /** What happened, and what to do on that page; `null` if the error's own message is enough. */
  readonly message: Message | null;
  /** Notes on what may have changed, and on what happens to the input. */
  readonly notes: readonly Message[];
}

/**
 * The members that the framework's features add to {@link HttpContext}. An application augments `HttpContext` itself.
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that features can augment it.
export interface FrameworkContext {}

export interface HttpContext extends FrameworkContext {}

/**
 * A request on its way through the application, and everything that belongs to it.
 *
 * Each application extends this class once, at boot; providers add lazy properties (`auth`, `view`, …) to that class.
 * Request state isn't kept anywhere else.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: `contextProperty` defines what the interface declares.
export class HttpContext {
  /** The incoming request. */
  readonly request: HttpRequest;
  /** The parts of the application that the context needs. */
  readonly services: HttpServices;
  /** The user loaded for the active guard; written only by guards, read through `request.user()`. */
  currentUser: RegisteredUser | null = null;
  /** @internal The primary key in a token that was verified without loading its user; for the log. */
  provenUserId: string | null = null;
  /** The data that is kept about the visitor, on routes that keep any; written only by `SessionMiddleware`. */
  visitor: Visitor | null = null;
  /** @internal Whether a handler that may change something has begun. */
  wasHandled = false;
  /** @internal The page that this request's error page links back to. */
  pageToReturnTo: PageToReturnTo | null = null;
  /** Whether nothing may be stored for the request, neither the last use of a login or token nor the session. */
  isReadOnly = false;
  /** @internal Whether the request was checked for a token, so that the response depends on `Authorization`. */
  readsToken = false;
  #origin: string | null = null;
  #response: HttpResponse | null = null;
  /** The language chosen from `Accept-Language`; `null` until it is needed. */
  #negotiated: string | null = null;
  #t: Translate | null = null;

  /**
   * @param raw the platform's request
   * @param services the parts of the application that the context needs
   * @param match the matching route, or `null` if none matched
   */
  constructor(raw: Request, services: HttpServices, match: RouteMatch | null) {
    this.services = services;
    this.request = new HttpRequest(raw, this, match);
  }

  /**
   * @internal The application's origin for this request: the origin of `APP_URL`, or of the requested host if it is in
   * `APP.hosts`; `null` if `APP_URL` is not set.
   */
  get origin(): string | null {
    return this.#origin ?? this.services.appUrl;
  }

  /** @internal Uses the origin of a host from `APP.hosts`. */
  useOrigin(origin: string | null): void {
    this.#origin = origin;
  }

  /** The response under construction; created on first access. */
  get response(): HttpResponse {
    this.#response ??= new HttpResponse(this);
    return this.#response;
  }

  /**
   * The language to use for the visitor, as a tag (BCP 47) such as `de`: the user's property `language`, if the
   * application has that language, or else the application's best language by `Accept-Language`.
   *
   * If the application has more than one language, reading it adds `Content-Language` to the response, and `Vary:
   * Accept-Language` if that header decided (RFC 9110 §12.5.4, §12.5.5).
   */
  get language(): string {
    const { messages } = this.services;
    if (messages.languages.length === 1) return messages.defaultLanguage;
    const own = messages.ofUser(this.currentUser);
    if (own === null) this.#negotiated ??= messages.negotiate(this.request.header("accept-language"));
    const language = own ?? this.#negotiated!;
    this.response.speaks(language, own === null);
    return language;
  }

  /** @internal Whether the response depends on `Accept-Language`. */
  get isLanguageNegotiated(): boolean {
    return this.#negotiated !== null;
  }

  /**
   * Returns a sentence in the visitor's {@link language}: `t("app.orders.count", { count: 2 })`. It does not use `this`, so a
   * handler can destructure it: `({ session, t }) => …`.
   *
   * Security: in a template, `{{ t(…) }}` escapes the sentence and its values. Elsewhere, escape what becomes HTML yourself.
   */
  get t(): Translate {
    this.#t ??= this.services.messages.translator(() => this.language);
    return this.#t;
  }

  /** The response under construction, or `null` if it has not been accessed yet. */
  get startedResponse(): HttpResponse | null {
    return this.#response;
  }
}

/** An application's subclass of `HttpContext`, which creates the contexts of its requests. */
export type ContextClass = new (raw: Request, services: HttpServices, match: RouteMatch | null) => HttpContext;

/** Creates a subclass of `HttpContext` for one application, so that additions to it don't affect other applications. */
export function createContextClass(): ContextClass {
  return class ApplicationContext extends HttpContext {};
}

/** Options of a property of the context. */
export interface ContextPropertyOptions {
  /** Whether the value of the first access is kept for the request; default: `true`. */
  readonly isKept?: boolean;
}

/**
 * Adds a property to the contexts of an application. Its value is created on first access, once for each context, unless
 * the options say otherwise.
 *
 * @param application passed to `make` with the context
 * @throws `E_INVALID_CONFIGURATION` if a property of this name exists
 */
export function addContextProperty<A>(
  context: ContextClass,
  name: string,
  make: (context: HttpContext, application: A) => unknown,
  application: A,
  { isKept = true }: ContextPropertyOptions = {},
): void {
  const { prototype } = context;
  if (name in prototype || name === "request" || name === "services" || name === "currentUser") {
    throw new AshlarError(
      "E_INVALID_CONFIGURATION",
      `The context already has a property "${name}". Choose another name.`,
    );
  }
  if (!isKept) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      get(this: HttpContext): unknown {
        return make(this, application);
      },
    });
    return;
  }
  // With one symbol per property, all contexts keep the same shape. Redefining the property on each context would
  // change the shape.
  const held = Symbol(name);
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: HttpContext & Record<symbol, unknown>): unknown {
      const value = this[held];
      if (value !== undefined || held in this) return value;
      const made = make(this, application);
      this[held] = made;
      return made;
    },
  });
}

/** How a page has handled a user who could not be looked up. */
interface UnknownUser {
  /** Whether the page has read the user, and so may treat the visitor as a guest. */
  wasAskedFor: boolean;
  /** Whether the page knows that the lookup failed. */
  isNoticed: boolean;
}

/** Requests whose user could not be looked up. They are rare, so they are kept here, at no cost to other requests. */
const UNKNOWN = new WeakMap<HttpContext, UnknownUser>();

/** Records that looking up a request's user failed, so that no page treats the user as a guest. */
export function markUserUnknown(context: HttpContext): void {
  if (!UNKNOWN.has(context)) UNKNOWN.set(context, { wasAskedFor: false, isNoticed: false });
}

/** Reports whether looking up a request's user failed. */
export function isUserUnknown(context: HttpContext): boolean {
  return UNKNOWN.has(context);
}

/** The user that a page is rendered for: `null` for a guest, and if the user could not be looked up. */
export function shownUser(context: HttpContext): RegisteredUser | null {
  const { currentUser } = context;
  if (currentUser !== null) return currentUser;
  const unknown = UNKNOWN.get(context);
  if (unknown !== undefined) unknown.wasAskedFor = true;
  return null;
}

/** Reports to a page whether the user could not be looked up, and records that the page knows. */
export function noticeUnknownUser(context: HttpContext): boolean {
  const unknown = UNKNOWN.get(context);
  if (unknown !== undefined) unknown.isNoticed = true;
  return unknown !== undefined;
}

/**
 * Reports whether a page has read a user who could not be looked up, without checking for that. It may be a guest's
 * page.
 */
export function treatsUnknownAsGuest(context: HttpContext): boolean {
  const unknown = UNKNOWN.get(context);
  return unknown?.wasAskedFor === true && !unknown.isNoticed;
}

/**
 * Creates the context of a GET request from the same sender, to respond to a form with a page.
 *
 * @param match the page's route; `null` for a page without one
 * @param target the page's path, relative to the application's, and its query; default: those of the request
 */
export function pageContext(context: HttpContext, match: RouteMatch | null, target: string | null = null): HttpContext {
  const { raw } = context.request;
  const headers = new Headers([...raw.headers].filter(([name]) => !name.startsWith("content-")));
  const url = target === null ? raw.url : new URL(`${baseOf(raw)}${target}`, raw.url);
  const request = new Request(url, { headers });
  const peer = peerAddress(raw);
  if (peer !== null) setPeerAddress(request, peer);
  if (baseOf(raw) !== "") markBase(request, baseOf(raw));
  const Context = context.constructor as new (...parts: ConstructorParameters<typeof HttpContext>) => HttpContext;
  const page = new Context(request, context.services, match);
  page.visitor = context.visitor;
  page.useOrigin(context.origin);
  page.request.shareAddressOf(context.request);
  return page;
}
