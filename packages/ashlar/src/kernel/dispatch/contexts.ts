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

/** What contexts are created with. */
export interface ContextDependencies {
  readonly context: ContextClass;
  readonly services: HttpServices;
  /** Says which pages of other origins may read a response that no middleware sees; `null` if none may. */
  readonly cors: { permit(context: HttpContext): unknown } | null;
  /** Learns of each request that has ended. */
  readonly watch: EndWatch;
  /** Knows the hosts of the application; `null` if it has one. */
  readonly requestedOrigins: RequestedOrigins | null;
  /** The path of `APP_URL` that requests arrive with; `""` if it has no path, or a proxy has removed it. */
  readonly keptBase: string;
}

/** Creates the contexts of an application's requests. */
export class Contexts {
  readonly #dependencies: ContextDependencies;

  constructor(dependencies: ContextDependencies) {
    this.#dependencies = dependencies;
  }

  /** Creates the context of a request that is being handled, by which the server, the log and unhandled errors know it. */
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
    // Now, because an unhandled error may need it when the request is no longer at hand.
    void context.request.id;
    return context;
  }

  /** Creates the context of a response that no middleware sees. */
  unseen(raw: Request, match: RouteMatch | null = null): HttpContext {
    const context = this.of(raw, match);
    this.#dependencies.cors?.permit(context);
    return context;
  }

  /** Creates a context outside of a request, for work that continues one. */
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
