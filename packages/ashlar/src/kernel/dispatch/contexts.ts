import {
  type ContextClass,
  enterBase,
  type HttpContext,
  type HttpServices,
  type RouteMatch,
} from "../../http/index.ts";
import type { RequestedOrigins } from "../requests/requested-origins.ts";
import { currentTrace } from "../requests/running-code.ts";
import { type EndWatch, servedExchange, watchUntilEnded } from "../requests/served-request.ts";

/** Dependencies of {@link Contexts}. */
export interface ContextDependencies {
  readonly context: ContextClass;
  readonly services: HttpServices;
  /**
   * For a response that doesn't go through middleware, sets which other origins' pages may read it; `null` if none may.
   */
  readonly cors: { permit(context: HttpContext): unknown } | null;
  /** Notified when a request has ended. */
  readonly watch: EndWatch;
  /** Finds out which host was requested; `null` if the application has a single host. */
  readonly requestedOrigins: RequestedOrigins | null;
  /** The path of `APP_URL`, if requests contain it; `""` if there isn't one, or if a proxy removes it. */
  readonly keptBase: string;
}

/** Creates the contexts of an application's requests. */
export class Contexts {
  readonly #dependencies: ContextDependencies;

  constructor(dependencies: ContextDependencies) {
    this.#dependencies = dependencies;
  }

  /** Creates a request's context, and makes it available to the server, the log and the reports of unhandled errors. */
  of(raw: Request, match: RouteMatch | null): HttpContext {
    const context = this.#create(raw, match);
    const served = servedExchange(raw);
    if (served === undefined) {
      const trace = currentTrace();
      if (trace !== null) context.request.shareId(trace);
    }
    // A handler may pass its request on to another application, which then produces part of the response.
    if (served !== undefined && served.context === null) {
      served.context = context;
      watchUntilEnded(served, this.#dependencies.watch);
    }
    // Creates the id now, because an unhandled error may need it after the request has ended.
    void context.request.id;
    return context;
  }

  /** Creates the context of a response that doesn't go through middleware. */
  unseen(raw: Request, match: RouteMatch | null = null): HttpContext {
    const context = this.of(raw, match);
    this.#dependencies.cors?.permit(context);
    return context;
  }

  /** Creates a context for work that continues a request. */
  detached(raw: Request): HttpContext {
    const { keptBase } = this.#dependencies;
    if (keptBase !== "") enterBase(raw, keptBase);
    return this.#create(raw, null);
  }

  #create(raw: Request, match: RouteMatch | null): HttpContext {
    const { context: ApplicationContext, services, requestedOrigins } = this.#dependencies;
    const context = new ApplicationContext(raw, services, match);
    if (requestedOrigins !== null) context.useOrigin(requestedOrigins.current);
    return context;
  }
}
