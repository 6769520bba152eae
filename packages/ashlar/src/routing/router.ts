import { type QueryParameters, type RouteParameters, type UrlGenerator, withBase } from "../http/index.ts";
import { AshlarError, suggestion } from "../support/index.ts";
import { compileRoutes, type Report } from "./compiled/compile-routes.ts";
import type { BoundRoute, CompiledMatch, CompiledRoute } from "./compiled/compiled-route.ts";
import { reportConflicts, reportDuplicateNames } from "./compiled/conflicts.ts";
import { RouteTable, type TableMatch } from "./compiled/route-table.ts";
import { type RouteVariant, variantsOf } from "./compiled/route-variant.ts";
import { HTTP_METHODS, type HttpMethod } from "./definitions/controller-action.ts";
import type { RouteSource } from "./definitions/route-collection.ts";
import { type CompilerSet, compilerSet, type ValueSigner } from "./patterns/compilers.ts";
import { compareDomains, type DomainPattern, hostName, matchDomain } from "./patterns/domain-pattern.ts";
import type { OwnCompilers } from "./patterns/own-compilers.ts";
import { decodeUnreserved, hasDotSegment, isUnusual, normalizeEscapes } from "./patterns/path-encoding.ts";
import { hasValidSignature, type SignedUrlOptions, signUrl } from "./urls/signed-url.ts";
import { type AppUrl, buildQuery, buildUrl } from "./urls/url.ts";
import "./errors.ts";

/** Options of a router. */
export interface RouterOptions {
  /** The application's own compilers, see `ownCompilers`. */
  readonly compilers?: OwnCompilers;
  /** Signs URLs, and parameters with the compiler `signed`. Without it, neither is available. */
  readonly signer?: ValueSigner;
  /** The application's origin, or a function that returns it, used for URLs of routes with a domain. */
  readonly appUrl?: AppUrl | null;
  /** The path of `APP_URL`, which is put before every path; default: none. */
  readonly basePath?: string;
}

interface Domain {
  readonly pattern: DomainPattern;
  readonly table: RouteTable;
}

/**
 * Finds the route for a request, and creates URLs from routes' names. Created once, at boot, from plain data.
 *
 * The path is matched as the client sent it, segment by segment and case-sensitively. One trailing slash is ignored. If
 * several routes match, the most specific one wins (text, then a parameter with a compiler, then a parameter without
 * one, then `any`). Of equally specific routes, the one defined first wins. An empty segment (`//login`) and a `.` or
 * `..` match nothing. In the URL of a `Request`, the platform has already resolved `.` and `..`. Unnecessary escapes
 * (`%6cogin`) do not match a route's text, and a path with them never leads to a different route than the path without
 * them. Parameters are decoded once.
 */
export class Router implements UrlGenerator {
  /** Every route, in the order of definition. */
  readonly routes: readonly CompiledRoute[];
  readonly #compilers: CompilerSet;
  readonly #named: ReadonlyMap<string, BoundRoute>;
  readonly #table: RouteTable;
  readonly #domains: readonly Domain[];
  readonly #signer: ValueSigner | null;
  readonly #appUrl: AppUrl | null;
  readonly #basePath: string;

  /**
   * @param sources the routes files, in order
   * @throws `E_INVALID_ROUTE` with every problem in any of them, each with its file and line
   */
  constructor(sources: readonly RouteSource[], options: RouterOptions = {}) {
    const problems: string[] = [];
    const report: Report = (location, problem) => problems.push(`${location}  ${problem}`);
    this.#signer = options.signer ?? null;
    this.#appUrl = options.appUrl ?? null;
    this.#basePath = options.basePath ?? "";
    this.#compilers = compilerSet(options.compilers ?? new Map(), this.#signer, ({ name, problem }) =>
      report("compilers", `"${name}" cannot be used: ${problem}.`),
    );
    const routes = compileRoutes(sources, this.#compilers, report);
    const variants = variantsOf(routes);
    reportDuplicateNames(routes, report);
    reportConflicts(variants, report);
    if (problems.length > 0) throw new AshlarError("E_INVALID_ROUTE", listed(problems));
    this.routes = Object.freeze(routes);
    this.#named = new Map(routes.flatMap((route) => (route.name === null ? [] : [[route.name, route]])));
    this.#table = new RouteTable(variants.filter(({ route }) => route.host === null));
    this.#domains = domainsOf(variants);
  }

  /**
   * Returns the route that handles a request.
   *
   * @param method in capitals; `HEAD` finds the route of `GET`
   * @param pathname the path as the client sent it, still encoded
   * @param host the host that the request was sent to, with or without a port; `null` if it is unknown
   * @returns `null` if there isn't one
   * @throws `E_BAD_REQUEST` if the path contains an escape that is malformed, not UTF-8 or that of NUL
   */
  match(method: string, pathname: string, host: string | null): CompiledMatch | null {
    if (!isUnusual(pathname)) return this.#search(method, pathname, host);
    const path = normalizeEscapes(pathname);
    const match = this.#search(method, path, host);
    const plain = decodeUnreserved(path);
    if (match === null || plain === path) return match;
    return this.#search(method, plain, host)?.route === match.route ? match : null;
  }

  /**
   * Returns the methods that a path allows, as in an `Allow` header; none if the path is unknown. `GET` includes
   * `HEAD`. `OPTIONS` is listed only if a route is defined for it.
   *
   * @throws `E_BAD_REQUEST` like {@link Router.match}
   */
  allowedMethods(pathname: string, host: string | null): string[] {
    return withHead(HTTP_METHODS.filter((method) => this.match(method, pathname, host) !== null));
  }

  /** The methods that any route handles, as in {@link Router.allowedMethods}. */
  methods(): string[] {
    return withHead(HTTP_METHODS.filter((method) => this.routes.some((route) => route.methods.includes(method))));
  }

  /**
   * Returns the path of a named route; the complete URL if the route has a domain.
   *
   * @param parameters values by name, in any order; an optional parameter may be omitted or `null`
   * @param query the values after the question mark; `null` and `undefined` are omitted
   * @throws `E_UNKNOWN_ROUTE`, `E_MISSING_ROUTE_PARAMETER`, `E_INVALID_ROUTE_PARAMETER`; `E_INVALID_CONFIGURATION`
   * if the route has a domain and `APP_URL` is not set
   */
  to(name: string, parameters: RouteParameters = {}, query: QueryParameters = {}): string {
    return buildUrl(this.#route(name), parameters, this.#appUrl, this.#basePath) + buildQuery(query);
  }

  /**
   * Returns a path of the application as visitors see it: `/shop/orders` for `/orders` if `APP_URL` is
   * `https://x.example/shop`. A path that already begins with the path of `APP_URL`, such as a route's, is returned
   * unchanged.
   */
  url(path: string): string {
    return withBase(this.#basePath, path);
  }

  /**
   * Returns a named route's URL with a signature. The URL expires if `expiresInMinutes` is given.
   *
   * Security: the signature covers the path and the query, but not the host. Anyone who has the URL can use it, any
   * number of times.
   *
   * @throws as {@link Router.to}; `E_INVALID_CONFIGURATION` if there is no key to sign with
   */
  signed(name: string, parameters: RouteParameters = {}, options: SignedUrlOptions = {}): string {
    return signUrl(this.to(name, parameters), options, this.#signerOrThrow());
  }

  /**
   * Reports whether a URL was created by {@link Router.signed}, is unaltered, and has not expired.
   *
   * @param url the URL as requested: absolute, or only the path and the query
   * @throws `E_INVALID_CONFIGURATION` if there is no key to verify with
   */
  hasValidSignature(url: string): boolean {
    return hasValidSignature(url, this.#signerOrThrow());
  }

  #search(method: string, path: string, host: string | null): TableMatch | null {
    if (path.charCodeAt(0) !== 47 || hasDotSegment(path)) return null;
    if (this.#domains.length > 0 && host !== null) {
      const match = this.#searchDomains(method, path, host);
      if (match !== null) return match;
    }
    return this.#table.find(method, path);
  }

  #searchDomains(method: string, path: string, authority: string): TableMatch | null {
    const host = hostName(authority);
    if (host === null) return null;
    for (const { pattern, table } of this.#domains) {
      const captured = matchDomain(pattern, host);
      const match = captured === null ? null : table.find(method, path);
      if (match === null) continue;
      return { route: match.route, params: Object.assign(captured!, match.params) };
    }
    return null;
  }

  #route(name: string): BoundRoute {
    const route = this.#named.get(name);
    if (route !== undefined) return route;
    const near = suggestion(name, this.#named.keys());
    throw new AshlarError("E_UNKNOWN_ROUTE", `No route is named "${name}". ${near}`.trimEnd());
  }

  #signerOrThrow(): ValueSigner {
    if (this.#signer !== null) return this.#signer;
    throw new AshlarError("E_INVALID_CONFIGURATION", "Signed URLs need a key: set APP_KEY.");
  }
}

function withHead(methods: readonly HttpMethod[]): string[] {
  return methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
}

function domainsOf(variants: readonly RouteVariant[]): readonly Domain[] {
  const patterns = new Map<string, DomainPattern>();
  for (const { route } of variants) if (route.host !== null) patterns.set(route.host.text, route.host);
  return [...patterns.values()].sort(compareDomains).map((pattern) => ({
    pattern,
    table: new RouteTable(variants.filter(({ route }) => route.host?.text === pattern.text)),
  }));
}

function listed(problems: readonly string[]): string {
  const count = problems.length === 1 ? "There is a problem" : `There are ${problems.length} problems`;
  return `${count} in the routes:\n${problems.map((problem) => `  ${problem}`).join("\n")}`;
}
