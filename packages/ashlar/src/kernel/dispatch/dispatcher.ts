import {
  ambiguousTarget,
  enterBase,
  FastResponse,
  type HttpContext,
  type HttpServices,
  hasBody,
  isAmbiguousTarget,
  OVERRIDING_METHODS,
  type RouteMatch,
  requestAuthority,
  requestPath,
  sentTarget,
  toResponse,
} from "../../http/index.ts";
import type { CompiledMatch, CompiledRoute, Router } from "../../routing/index.ts";
import { isPromise, isThenable } from "../../support/index.ts";
import type { ErrorHandler } from "../errors/error-handler.ts";
import { UnmatchedError } from "../errors/unmatched.ts";
import { compose, type PipelineStep, type Run } from "../pipeline/pipeline.ts";
import { currentTrace } from "../requests/after-response.ts";
import type { RequestedOrigins } from "../requests/requested-origins.ts";
import { asksAboutServer, servedExchange, watchUntilEnded } from "../requests/served-request.ts";
import { isTracing, traceRequest } from "../watch/request-tracing.ts";
import type { RequestWatch } from "../watch/request-watch.ts";
import { HostedRequests } from "./hosted-requests.ts";
import { forward, type Mounts } from "./mounts.ts";
import { discard, prepare } from "./prepared-response.ts";
import { returningSentId } from "./returned-id.ts";

/** Creates the context of a request, of the application's own subclass of `HttpContext`. */
export type ContextClass = new (raw: Request, services: HttpServices, match: RouteMatch | null) => HttpContext;

/** Serves the files of a folder. */
export interface StaticFiles {
  /** Returns the response to a request; `null` if its path does not lead to a file. */
  (raw: Request): Promise<Response | null>;
  /** Reports whether a file has been served under a path. */
  readonly hasServed: (path: string) => boolean;
}

/** Responds to those who ask how the application is. */
export interface Probes {
  /** Returns the response to a request; `null` if it is not for them. */
  respond(path: string, raw: Request): Response | Promise<Response> | null;
}

/** A dispatcher's dependencies, all made before the first request. */
export interface DispatcherDependencies {
  /** The application's name. */
  readonly name: string;
  readonly router: Router;
  readonly context: ContextClass;
  readonly services: HttpServices;
  /** The middleware around every request, outermost first. */
  readonly middleware: readonly PipelineStep[];
  readonly errors: ErrorHandler;
  /** Says which pages of other origins may read a response that no middleware sees; `null` if none may. */
  readonly cors: { permit(context: HttpContext): unknown } | null;
  readonly mounts: Mounts;
  readonly files: StaticFiles | null;
  /** Asked before the routes, and before any middleware; `null` if there are no such paths. */
  readonly probes: Probes | null;
  /** Is told of each request. */
  readonly watch: RequestWatch;
  /** The prefix of every path of the API; `null` if it does not have one. */
  readonly apiPrefix: string | null;
  /** Knows the hosts of the application; `null` if it has one. */
  readonly requestedOrigins: RequestedOrigins | null;
  /** The path of `APP_URL` that requests arrive with; `""` if there is none, or a proxy has removed it. */
  readonly keptBase: string;
}

const NONE: CompiledRoute[] = [];

/**
 * Handles requests: finds the route, creates the context, runs the pipeline, turns its result into a `Response`.
 *
 * If all of that is synchronous, so is the response: no promise is created needlessly.
 */
export class Dispatcher {
  /** Runs work for requests that another framework responds to. */
  readonly hosted: HostedRequests;
  readonly #dependencies: DispatcherDependencies;
  readonly #router: Router;
  readonly #context: ContextClass;
  readonly #services: HttpServices;
  readonly #errors: ErrorHandler;
  readonly #mounts: Mounts;
  readonly #probes: Probes | null;
  readonly #watch: RequestWatch;
  readonly #requestedOrigins: RequestedOrigins | null;
  readonly #matchesHosts: boolean;
  readonly #overrides: boolean;
  /** Whether middleware around every request may read inputs, so that the body has to be read first. */
  readonly #readsFirst: boolean;
  /** Runs what was chosen for a request instead of a route. */
  readonly #otherwise: Run;
  readonly #decided = new WeakMap<HttpContext, Run>();

  constructor(dependencies: DispatcherDependencies) {
    this.#dependencies = dependencies;
    this.#router = dependencies.router;
    this.#context = dependencies.context;
    this.#services = dependencies.services;
    this.#errors = dependencies.errors;
    this.#mounts = dependencies.mounts;
    this.#probes = dependencies.probes;
    this.#watch = dependencies.watch;
    this.#requestedOrigins = dependencies.requestedOrigins;
    const { routes } = dependencies.router;
    this.#matchesHosts = routes.some((route) => route.domain !== null);
    this.#overrides = routes.some((route) => route.methods.some((method) => OVERRIDING_METHODS.includes(method)));
    this.#readsFirst = dependencies.middleware.some(({ isEarly = false }) => !isEarly);
    for (const route of routes) {
      route.run = this.#around(route.run);
      route.runWithBody = this.#around(route.runWithBody);
    }
    this.#otherwise = this.#around((context) => this.#decided.get(context)!(context));
    this.hosted = new HostedRequests(dependencies.middleware, (raw) => this.contextFor(raw), this.#requestedOrigins);
  }

  /** Responds to a request. It never throws and never rejects. */
  dispatch(raw: Request): Response | Promise<Response> {
    if (!isTracing()) return this.#dispatch(raw);
    return traceRequest(raw, this.#dependencies.name, this.#services.proxies, () => this.#dispatch(raw));
  }

  #dispatch(raw: Request): Response | Promise<Response> {
    const startedAt = startOf(raw);
    if (this.#requestedOrigins === null) return this.#respond(raw, startedAt);
    const failed = (error: unknown) => {
      return this.#decide(this.#contextOf(raw, null), () => Promise.reject(error), startedAt);
    };
    return this.#requestedOrigins.runFor(raw, () => this.#respond(raw, startedAt), failed);
  }

  #respond(raw: Request, startedAt: number): Response | Promise<Response> {
    // Before anything looks at the path, middleware and mounts included.
    if (isAmbiguousTarget(sentTarget(raw))) return this.#refuse(raw, startedAt);
    const { keptBase } = this.#dependencies;
    if (keptBase !== "" && !enterBase(raw, keptBase)) return this.#outside(raw, startedAt);
    const path = requestPath(raw);
    if (path === "/*" && asksAboutServer(raw)) return this.#aboutServer(raw, startedAt);
    if (!this.#mounts.isEmpty) {
      const mount = this.#mounts.find(path, raw);
      if (mount !== null) return this.#decide(this.#contextOf(raw, null), () => forward(raw, mount), startedAt);
    }
    const probed = this.#probes?.respond(path, raw) ?? null;
    if (probed !== null) return probed;
    let match: CompiledMatch | null;
    try {
      match = this.#match(raw, raw.method, path);
    } catch (error) {
      return this.#decide(this.#contextOf(raw, null), () => Promise.reject(error), startedAt);
    }
    if (match === null) return this.#unmatched(raw, path, startedAt);
    const { busyRoutes } = this.#errors;
    const busy = busyRoutes.areNone ? null : busyRoutes.errorOf(match.route, raw);
    if (busy !== null) return this.#failed(this.#unseenContext(raw, match), busy, startedAt);
    const context = this.#contextOf(raw, match);
    if (!hasBody(raw)) return this.#run(context, match.route.run, startedAt);
    // A body that the handler streams can't ask for another method.
    const others = isStreamed(match.route) ? NONE : this.#overriding(raw, path);
    if (this.#readsFirst || others.length > 0) {
      return this.#withBody(context, path, match.route, [match.route, ...others], startedAt);
    }
    return this.#run(context, match.route.runWithBody, startedAt);
  }

  /**
   * Responds to an error as if a handler had thrown it: to one of another framework's handlers, and again to a request of the
   * server whose streamed response failed before its first byte. It never throws and never rejects.
   */
  rescue(raw: Request, error: unknown): Response | Promise<Response> {
    const context = servedExchange(raw)?.context ?? null;
    if (context !== null || this.#requestedOrigins === null) return this.#rescue(context, raw, error);
    const rescue = () => this.#rescue(null, raw, error);
    return this.#requestedOrigins.runFor(raw, rescue, rescue);
  }

  #rescue(seen: HttpContext | null, raw: Request, error: unknown): Response | Promise<Response> {
    const context = seen ?? this.#unseenContext(raw);
    const result = this.#errors.respond(error, context);
    if (!isPromise(result)) return this.#errors.toResponse(context, result);
    return result.then((settled) => this.#errors.toResponse(context, settled));
  }

  /** Responds to a request for a path that `APP_URL` doesn't have. Load balancers ask this process, and not the site. */
  #outside(raw: Request, startedAt: number): Response | Promise<Response> {
    const path = requestPath(raw);
    if (path === "/*" && asksAboutServer(raw)) return this.#aboutServer(raw, startedAt);
    const probed = this.#probes?.respond(path, raw) ?? null;
    if (probed !== null) return probed;
    const respond = () => Promise.reject(new UnmatchedError([], false));
    return this.#decide(this.#contextOf(raw, null), respond, startedAt);
  }

  #aboutServer(raw: Request, startedAt: number): Response | Promise<Response> {
    const respond = () => allowing(withOptions(this.#router.methods()));
    return this.#decide(this.#contextOf(raw, null), respond, startedAt);
  }

  /** Responds to a request whose target others could read as another path. */
  #refuse(raw: Request, startedAt: number): Response | Promise<Response> {
    return this.#failed(this.#unseenContext(raw), ambiguousTarget(), startedAt);
  }

  /** Creates the context of a response that no middleware sees. */
  #unseenContext(raw: Request, match: RouteMatch | null = null): HttpContext {
    const context = this.#contextOf(raw, match);
    this.#dependencies.cors?.permit(context);
    return context;
  }

  /** Creates a context outside of a request, for work that continues one. */
  contextFor(raw: Request): HttpContext {
    const { keptBase } = this.#dependencies;
    if (keptBase !== "") enterBase(raw, keptBase);
    return this.#newContext(raw, null);
  }

  #newContext(raw: Request, match: RouteMatch | null): HttpContext {
    const context = new this.#context(raw, this.#services, match);
    if (this.#requestedOrigins !== null) context.useOrigin(this.#requestedOrigins.current);
    return context;
  }

  #contextOf(raw: Request, match: RouteMatch | null): HttpContext {
    const context = this.#newContext(raw, match);
    const served = servedExchange(raw);
    if (served === undefined) {
      const trace = currentTrace();
      if (trace !== null) context.request.shareId(trace);
    }
    // A handler may pass its request on to another application, which then produces part of the response.
    if (served !== undefined && served.context === null) {
      served.context = context;
      watchUntilEnded(served, this.#watch);
    }
    // Now, because an unhandled error may need it when the request is no longer at hand.
    void context.request.id;
    return context;
  }

  #match(raw: Request, method: string, path: string): CompiledMatch | null {
    return this.#router.match(method, path, this.#hostOf(raw));
  }

  #hostOf(raw: Request): string | null {
    return this.#matchesHosts ? requestAuthority(raw) : null;
  }

  /** Wraps a pipeline in the middleware of every request. It sees a response even if the pipeline threw. */
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
      // The server tells of the request itself: what a client gets of a stream is known only once it has ended.
      if (served?.context !== context) this.#watch.ended(context, startedAt, sent.status, null, null);
      if (served === undefined) sent = returningSentId(context, sent);
      return context.request.endWith(sent);
    } catch (error) {
      // A response of the application's own class may throw on any access.
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
   * @param routes the routes that the request may be for
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
      const overridden = this.#overridden(context, path);
      if (overridden !== null) {
        context.request.useMatch(overridden);
        matched = overridden.route;
      }
      if (matched !== null && routes.length > 1) context.request.checkBodySize(matched);
    } catch (error) {
      return this.#decide(context, () => Promise.reject(error), startedAt);
    }
    if (matched !== null) return this.#run(context, matched.run, startedAt);
    return this.#decide(context, () => this.#withoutRoute(context.request.raw, path), startedAt);
  }

  /** Returns the route meant by a form, which can only send POST and names its real method in `__method`. */
  #overridden({ request }: HttpContext, path: string): CompiledMatch | null {
    const { raw } = request;
    const method = this.#overrides ? request.getRequestMethod() : raw.method;
    const match = method === raw.method ? null : this.#match(raw, method, path);
    return match !== null && isStreamed(match.route) ? null : match;
  }

  /** The routes of the path's other methods, which the body of a POST may ask for: not those that would stream it. */
  #overriding(raw: Request, path: string): CompiledRoute[] {
    if (!this.#overrides || raw.method !== "POST" || !hasBody(raw)) return NONE;
    const found = OVERRIDING_METHODS.map((method) => this.#match(raw, method, path)?.route);
    return found.filter((route) => route !== undefined).filter((route) => !isStreamed(route));
  }

  #unmatched(raw: Request, path: string, startedAt: number): Response | Promise<Response> {
    const context = this.#contextOf(raw, null);
    const others = this.#overriding(raw, path);
    if (others.length > 0) return this.#withBody(context, path, null, others, startedAt);
    return this.#decide(context, () => this.#withoutRoute(raw, path), startedAt);
  }

  /** Responds if no route does: a file, the allowed methods, 405 or 404. */
  #withoutRoute(raw: Request, path: string): unknown {
    const { method } = raw;
    const allowed = this.#allowed(raw, path);
    const { files } = this.#dependencies;
    if (allowed.length === 0 && files !== null && (method === "GET" || method === "HEAD")) {
      return files(raw).then((file) => file ?? Promise.reject(new UnmatchedError([], this.#isApi(raw, path, []))));
    }
    if (allowed.length > 0 && method === "OPTIONS") return allowing(allowed);
    throw new UnmatchedError(allowed, this.#isApi(raw, path, allowed));
  }

  #allowed(raw: Request, path: string): string[] {
    const methods = this.#router.allowedMethods(path, this.#hostOf(raw));
    return methods.length === 0 ? methods : withOptions(methods);
  }

  #isApi(raw: Request, path: string, allowed: readonly string[]): boolean {
    const { apiPrefix } = this.#dependencies;
    if (apiPrefix !== null && (path === apiPrefix || path.startsWith(`${apiPrefix}/`))) return true;
    return allowed.some((method) => this.#match(raw, method, path)?.route.respondsWithJson ?? false);
  }
}

/** When a request came in: to the server, or, if it comes from a handler of another application or without one, now. */
function startOf(raw: Request): number {
  const served = servedExchange(raw);
  return served === undefined || served.context !== null ? performance.now() : served.startedAt;
}

/** Whether a handler reads the body, or a part of it. */
function isStreamed({ streamsBody = false, streamsFiles = false }: CompiledRoute): boolean {
  return streamsBody || streamsFiles;
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

/** RFC 9110 §9.3.2: the response to HEAD has the same headers as GET, and no body. */
function withoutBody(response: Response): Response {
  const prepared = prepare(response);
  discard(prepared.body);
  const headers: [string, string][] = [];
  for (let index = 0; index < prepared.headers.length; index += 2) {
    headers.push([prepared.headers[index]!, prepared.headers[index + 1]!]);
  }
  return new FastResponse(null, { status: prepared.status, headers });
}

/** RFC 9110 §9.3.7: the response to OPTIONS if no route handles it. */
function allowing(methods: readonly string[]): Response {
  return new FastResponse(null, { status: 204, headers: { allow: methods.join(", ") } });
}

function withOptions(methods: string[]): string[] {
  return methods.includes("OPTIONS") ? methods : [...methods, "OPTIONS"];
}
