import type { RegisteredUser } from "../support/index.ts";
import { HttpRequest } from "./request.ts";
import { HttpResponse } from "./response.ts";
import type { HttpServices, RouteMatch } from "./services.ts";

/** What a login and a logout do with what is remembered of a visitor between requests. */
export interface VisitorMemory {
  /** Keeps what is remembered, under another identity: who knew the old one has nothing any more. */
  regenerate(): unknown;
  /** Forgets everything, the identity included. */
  invalidate(): unknown;
  /** Forgets everything but the identity, so that the forms of pages that are open can still be sent. */
  flush(): unknown;
  /**
   * Remembers where the visitor was heading.
   *
   * @param guard whose login is asked for; `null` for the default guard's
   */
  intend(path: string, guard?: string | null): unknown;
  /** Where the visitor was heading, which is forgotten. */
  intended(fallback: string, guard?: string | null): string;
}

/** What the framework's features add to {@link HttpContext}. An application augments `HttpContext` itself. */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that the features can fill it.
export interface FrameworkContext {}

export interface HttpContext extends FrameworkContext {}

/**
 * One request on its way through the application, and all that belongs to it.
 *
 * Each application extends this class once, at boot; providers add lazy properties (`auth`, `view`, …) to that class.
 * Nothing about a request is kept anywhere else.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: `contextProperty` defines what the interface declares.
export class HttpContext {
  /** The request as it came in. */
  readonly request: HttpRequest;
  /** What the context needs of its application. */
  readonly services: HttpServices;
  /** The user loaded for the guard in force; written by the guards alone, read through `request.user()`. */
  currentUser: RegisteredUser | null = null;
  /** What is remembered of the visitor, on routes that remember anything; written by `SessionMiddleware` alone. */
  visitor: VisitorMemory | null = null;
  #response: HttpResponse | null = null;

  /**
   * @param raw the platform's request
   * @param services what the context needs of its application
   * @param match the route that answers, or `null` where none matched
   */
  constructor(raw: Request, services: HttpServices, match: RouteMatch | null) {
    this.services = services;
    this.request = new HttpRequest(raw, this, match);
  }

  /** The answer under construction; made when it is first asked for. */
  get response(): HttpResponse {
    this.#response ??= new HttpResponse(this);
    return this.#response;
  }

  /** The answer under construction, or `null` where nobody has asked for it yet. */
  get startedResponse(): HttpResponse | null {
    return this.#response;
  }
}
