import {
  ambiguousTarget,
  enterBase,
  type HttpContext,
  hasBody,
  isAmbiguousTarget,
  requestPath,
  returningSentId,
  sentTarget,
  toResponse,
} from "../../http/index.ts";
import type { CompiledMatch, CompiledRoute } from "../../routing/index.ts";
import { isPromise, isThenable, traceChannels } from "../../support/index.ts";
import type { ErrorHandler } from "../errors/error-handler.ts";
import { UnmatchedError } from "../errors/unmatched.ts";
import { compose, type PipelineStep, type Run } from "../pipeline/pipeline.ts";
import type { RequestedOrigins } from "../requests/requested-origins.ts";
import { asksAboutServer, type EndWatch, servedExchange } from "../requests/served-request.ts";
import { traceRequest } from "../watch/request-tracing.ts";
import { type ContextDependencies, Contexts } from "./contexts.ts";
import { HostedRequests } from "./hosted-requests.ts";
import { forward, type Mounts } from "./mounts.ts";
import { isStreamed, RouteChoice, type RouteChoiceDependencies } from "./route-choice.ts";
import { withoutBody } from "./sent-response.ts";

/** Responds to health checks. */
export interface Probes {
  /** The paths of health checks. */
  readonly paths: ReadonlySet<string>;
  /** Returns the response to a request for one of the paths; `null` unless its method is that of a health check. */
  respond(path: string, raw: Request): Response | Promise<Response> | null;
}

/** Dependencies of a dispatcher, all created at boot. */
export interface DispatcherDependencies extends ContextDependencies, RouteChoiceDependencies {
  /** The application's name. */
  readonly name: string;
  /** The middleware around every request, outermost first. */
  readonly middleware: readonly PipelineStep[];
  readonly errors: ErrorHandler;
  readonly mounts: Mounts;
  /** Responds to health checks, before any route or middleware; `null` if there are no paths for them. */
  readonly probes: Probes | null;
}

/**
 * Handles requests: finds the route, creates the context, runs the pipeline, and turns its result into a `Response`.
 *
 * If all of that is synchronous, so is the response, without needless promises.
 */
export class Dispatcher {
  /** Runs work for requests that another framework responds to. */
  readonly hosted: HostedRequests;
  readonly #dependencies: DispatcherDependencies;
  readonly #contexts: Contexts;
  readonly #choice: RouteChoice;
  readonly #errors: ErrorHandler;
  readonly #mounts: Mounts;
  readonly #probes: Probes | null;
  readonly #watch: EndWatch;
  readonly #requestedOrigins: RequestedOrigins | null;
  /** Whether middleware around every request may read inputs, which means that the body has to be read first. */
  readonly #readsFirst: boolean;
  /** Runs the handler that was chosen for a request without a route. */
  readonly #otherwise: Run;
  readonly #decided = new WeakMap<HttpContext, Run>();

  constructor(dependencies: DispatcherDependencies) {
    this.#dependencies = dependencies;
    this.#contexts = new Contexts(dependencies);
    this.#choice = new RouteChoice(dependencies);
    this.#errors = dependencies.errors;
    this.#mounts = dependencies.mounts;
    this.#probes = dependencies.probes;
    this.#watch = dependencies.watch;
    this.#requestedOrigins = dependencies.requestedOrigins;
    this.#readsFirst = dependencies.middleware.some(({ isEarly = false }) => !isEarly);
    for (const route of dependencies.router.routes) {
      route.run = this.#around(route.run);
      route.runWithBody = this.#around(route.runWithBody);
    }
    this.#otherwise = this.#around((context) => this.#decided.get(context)!(context));
    this.hosted = new HostedRequests(dependencies.middleware, (raw) => this.contextFor(raw), this.#requestedOrigins);
  }

  /** Responds to a request. Never throws or rejects. */
  dispatch(raw: Request): Response | Promise<Response> {
    if (!traceChannels.request.hasSubscribers) return this.#dispatch(raw);
    return traceRequest(raw, this.#dependencies.name, this.#dependencies.services.proxies, () => this.#dispatch(raw));
  }

  #dispatch(raw: Request): Response | Promise<Response> {
    const startedAt = startOf(raw);
    if (this.#requestedOrigins === null) return this.#respond(raw, startedAt);
    const failed = (error: unknown) => {
      return this.#decide(this.#contexts.of(raw, null), () => Promise.reject(error), startedAt);
    };
    return this.#requestedOrigins.runFor(raw, () => this.#respond(raw, startedAt), failed);
  }

  #respond(raw: Request, startedAt: number): Response | Promise<Response> {
    // This check comes first, because such a path must reach neither middleware nor mounts.
    if (isAmbiguousTarget(sentTarget(raw))) return this.#refuse(raw, startedAt);
    const { keptBase } = this.#dependencies;
    if (keptBase !== "" && !enterBase(raw, keptBase)) return this.#outside(raw, startedAt);
    const path = requestPath(raw);
    if (path === "/*" && asksAboutServer(raw)) return this.#aboutServer(raw, startedAt);
    if (!this.#mounts.isEmpty) {
      const mount = this.#mounts.find(path, raw);
      if (mount !== null) return this.#decide(this.#contexts.of(raw, null), () => forward(raw, mount), startedAt);
    }
    const probed = this.#probe(path, raw);
    if (probed !== null) return probed;
    let match: CompiledMatch | null;
    try {
      match = this.#choice.match(raw, raw.method, path);
    } catch (error) {
      return this.#decide(this.#contexts.of(raw, null), () => Promise.reject(error), startedAt);
    }
    return match === null ? this.#unmatched(raw, path, startedAt) : this.#matched(raw, path, match, startedAt);
  }

  #matched(raw: Request, path: string, match: CompiledMatch, startedAt: number): Response | Promise<Response> {
    const { busyRoutes } = this.#errors;
    const busy = busyRoutes.areNone ? null : busyRoutes.errorOf(match.route, raw);
    if (busy !== null) return this.#failed(this.#contexts.unseen(raw, match), busy, startedAt);
    const context = this.#contexts.of(raw, match);
    if (!hasBody(raw)) return this.#run(context, match.route.run, startedAt);
    // A streamed body can't override the method.
    const others = isStreamed(match.route) ? [] : this.#choice.overriding(raw, path);
    if (this.#readsFirst || others.length > 0) {
      return this.#withBody(context, path, match.route, [match.route, ...others], startedAt);
    }
    return this.#run(context, match.route.runWithBody, startedAt);
  }

  /**
   * Responds to an error as if a handler had thrown it. Used for errors in another framework's handlers, and for
   * streamed responses that failed before their first byte. Never throws or rejects.
   */
  rescue(raw: Request, error: unknown): Response | Promise<Response> {
    const context = servedExchange(raw)?.context ?? null;
    if (context !== null || this.#requestedOrigins === null) return this.#rescue(context, raw, error);
    const rescue = () => this.#rescue(null, raw, error);
    return this.#requestedOrigins.runFor(raw, rescue, rescue);
  }

  #rescue(seen: HttpContext | null, raw: Request, error: unknown): Response | Promise<Response> {
    const context = seen ?? this.#contexts.unseen(raw);
    const result = this.#errors.respond(error, context);
    if (!isPromise(result)) return this.#errors.toResponse(context, result);
    return result.then((settled) => this.#errors.toResponse(context, settled));
  }

  /**
   * Responds to a request for a path outside of `APP_URL`. Health checks work there too, because load balancers address
   * the process, not the site.
   */
  #outside(raw: Request, startedAt: number): Response | Promise<Response> {
    const path = requestPath(raw);
    if (path === "/*" && asksAboutServer(raw)) return this.#aboutServer(raw, startedAt);
    const probed = this.#probe(path, raw);
    if (probed !== null) return probed;
    const respond = () => Promise.reject(new UnmatchedError([], false));
    return this.#decide(this.#contexts.of(raw, null), respond, startedAt);
  }

  #probe(path: string, raw: Request): Response | Promise<Response> | null {
    const probes = this.#probes;
    return probes?.paths.has(path) === true ? probes.respond(path, raw) : null;
  }

  #aboutServer(raw: Request, startedAt: number): Response | Promise<Response> {
    return this.#decide(this.#contexts.of(raw, null), () => this.#choice.aboutServer(), startedAt);
  }

  /** Refuses a request whose target other software could read as a different path. */
  #refuse(raw: Request, startedAt: number): Response | Promise<Response> {
    return this.#failed(this.#contexts.unseen(raw), ambiguousTarget(), startedAt);
  }

  /** Creates a context for work that continues a request. */
  contextFor(raw: Request): HttpContext {
    return this.#contexts.detached(raw);
  }

  /**
   * Wraps a pipeline in the middleware around every request. The middleware gets a response even if the pipeline
   * throws.
   */
  #around(run: Run): Run {
    const { middleware } = this.#dependencies;
    return middleware.length === 0 ? run : compose(middleware, guarded(run, this.#errors));
  }

  #run(context: HttpContext, run: Run, startedAt: number): Response | Promise<Response> {
    let response: Response;
    try {
      const result = run(context);
      if (isThenable(result)) return this.#later(context, result, startedAt);
      response = toResponse(context, result);
    } catch (error) {
      return this.#failed(context, error, startedAt);
    }
    return this.#finish(context, response, startedAt);
  }

  async #later(context: HttpContext, result: PromiseLike<unknown>, startedAt: number): Promise<Response> {
    let response: Response;
    try {
      response = toResponse(context, await result);
    } catch (error) {
      return this.#failed(context, error, startedAt);
    }
    return this.#finish(context, response, startedAt);
  }

  #failed(context: HttpContext, error: unknown, startedAt: number): Response | Promise<Response> {
    const result = this.#errors.respond(error, context);
    const finish = (settled: unknown) => this.#finish(context, this.#errors.toResponse(context, settled), startedAt);
    return isPromise(result) ? result.then(finish) : finish(result);
  }

  #finish(context: HttpContext, response: Response, startedAt: number): Response {
    try {
      let sent = response;
      if (context.request.raw.method === "HEAD") sent = withoutBody(response);
      const served = servedExchange(context.request.raw);
      // For requests that came through the server, the server reports the end, because only at the end of a stream is
      // it known how much the client received.
      if (served?.context !== context) this.#watch.ended(context, startedAt, sent.status, null, null);
      if (served === undefined) sent = returningSentId(context, sent);
      return context.request.endWith(sent);
    } catch (error) {
      // If the application has its own response class, any access may throw.
      return context.request.endWith(this.#errors.lastResort(error));
    }
  }

  #decide(context: HttpContext, decision: Run, startedAt: number): Response | Promise<Response> {
    this.#decided.set(context, decision);
    return this.#run(context, this.#otherwise, startedAt);
  }

  /**
   * Reads the body before any middleware runs; a form may then override the method.
   *
   * @param routes the routes that may handle the request
   */
  async #withBody(
    context: HttpContext,
    path: string,
    route: CompiledRoute | null,
    routes: readonly CompiledRoute[],
    startedAt: number,
  ): Promise<Response> {
    let matched = route;
    try {
      await context.request.loadBody(routes);
      const overridden = this.#choice.overridden(context, path);
      if (overridden !== null) {
        context.request.useMatch(overridden);
        matched = overridden.route;
      }
      if (matched !== null && routes.length > 1) context.request.checkBodySize(matched);
    } catch (error) {
      return this.#decide(context, () => Promise.reject(error), startedAt);
    }
    if (matched !== null) return this.#run(context, matched.run, startedAt);
    return this.#decide(context, () => this.#choice.withoutRoute(context.request.raw, path), startedAt);
  }

  #unmatched(raw: Request, path: string, startedAt: number): Response | Promise<Response> {
    const context = this.#contexts.of(raw, null);
    const others = this.#choice.overriding(raw, path);
    if (others.length > 0) return this.#withBody(context, path, null, others, startedAt);
    return this.#decide(context, () => this.#choice.withoutRoute(raw, path), startedAt);
  }
}

/**
 * The time when the server received a request; the current time if another server or another application's handler
 * passed the request on.
 */
function startOf(raw: Request): number {
  const served = servedExchange(raw);
  return served === undefined || served.context !== null ? performance.now() : served.startedAt;
}

function guarded(run: Run, errors: ErrorHandler): Run {
  return (context) => {
    try {
      const result = run(context);
      return isThenable(result) ? result.then(undefined, (error: unknown) => errors.respond(error, context)) : result;
    } catch (error) {
      return errors.respond(error, context);
    }
  };
}
