import { FastResponse, type HttpContext, hasBody, OVERRIDING_METHODS, requestAuthority } from "../../http/index.ts";
import type { CompiledMatch, CompiledRoute, Router } from "../../routing/index.ts";
import { UnmatchedError } from "../errors/unmatched.ts";

/** Serves the files in a folder. */
export interface StaticFiles {
  /** Returns the response to a request; `null` if its path does not lead to a file. */
  (raw: Request): Promise<Response | null>;
  /** Reports whether a file has been served under a path. */
  readonly hasServed: (path: string) => boolean;
}

/** The dependencies of {@link RouteChoice}. */
export interface RouteChoiceDependencies {
  readonly router: Router;
  readonly files: StaticFiles | null;
  /** The prefix of every API path; `null` if there isn't one. */
  readonly apiPrefix: string | null;
}

const NONE: CompiledRoute[] = [];

/**
 * Chooses what responds to a request: the matching route, or the route for the method that a form names in `__method`.
 * If no route matches, it is a file or an error.
 */
export class RouteChoice {
  readonly #router: Router;
  readonly #files: StaticFiles | null;
  readonly #apiPrefix: string | null;
  readonly #matchesHosts: boolean;
  readonly #overrides: boolean;

  constructor({ router, files, apiPrefix }: RouteChoiceDependencies) {
    this.#router = router;
    this.#files = files;
    this.#apiPrefix = apiPrefix;
    const { routes } = router;
    this.#matchesHosts = routes.some((route) => route.domain !== null);
    this.#overrides = routes.some((route) => route.methods.some((method) => OVERRIDING_METHODS.includes(method)));
  }

  match(raw: Request, method: string, path: string): CompiledMatch | null {
    return this.#router.match(method, path, this.#hostOf(raw));
  }

  #hostOf(raw: Request): string | null {
    return this.#matchesHosts ? requestAuthority(raw) : null;
  }

  /** The routes for other methods that a POST's body may name, except routes that would stream the body. */
  overriding(raw: Request, path: string): CompiledRoute[] {
    if (!this.#overrides || raw.method !== "POST" || !hasBody(raw)) return NONE;
    const found = OVERRIDING_METHODS.map((method) => this.match(raw, method, path)?.route);
    return found.filter((route) => route !== undefined).filter((route) => !isStreamed(route));
  }

  /** Returns the route that a form is meant for. Forms can only send POST, and name their real method in `__method`. */
  overridden({ request }: HttpContext, path: string): CompiledMatch | null {
    const { raw } = request;
    const method = this.#overrides ? request.getRequestMethod() : raw.method;
    const match = method === raw.method ? null : this.match(raw, method, path);
    return match !== null && isStreamed(match.route) ? null : match;
  }

  /** Responds if no route matches: with a file, the allowed methods, 405 or 404. */
  withoutRoute(raw: Request, path: string): unknown {
    const { method } = raw;
    const allowed = this.#allowed(raw, path);
    const files = this.#files;
    if (allowed.length === 0 && files !== null && (method === "GET" || method === "HEAD")) {
      return files(raw).then((file) => file ?? Promise.reject(new UnmatchedError([], this.#isApi(raw, path, []))));
    }
    if (allowed.length > 0 && method === "OPTIONS") return allowing(allowed);
    throw new UnmatchedError(allowed, this.#isApi(raw, path, allowed));
  }

  /** Responds to `OPTIONS *`, which asks what the server can do. */
  aboutServer(): Response {
    return allowing(withOptions(this.#router.methods()));
  }

  #allowed(raw: Request, path: string): string[] {
    const methods = this.#router.allowedMethods(path, this.#hostOf(raw));
    return methods.length === 0 ? methods : withOptions(methods);
  }

  #isApi(raw: Request, path: string, allowed: readonly string[]): boolean {
    const prefix = this.#apiPrefix;
    if (prefix !== null && (path === prefix || path.startsWith(`${prefix}/`))) return true;
    return allowed.some((method) => this.match(raw, method, path)?.route.respondsWithJson ?? false);
  }
}

/** Reports whether a route's handler reads the body, or a part of it, itself. */
export function isStreamed({ streamsBody = false, streamsFiles = false }: CompiledRoute): boolean {
  return streamsBody || streamsFiles;
}

/** The response to OPTIONS if no route handles it (RFC 9110 §9.3.7). */
function allowing(methods: readonly string[]): Response {
  return new FastResponse(null, { status: 204, headers: { allow: methods.join(", ") } });
}

function withOptions(methods: string[]): string[] {
  return methods.includes("OPTIONS") ? methods : [...methods, "OPTIONS"];
}
