import {
  FastResponse,
  type OriginHeaders,
  peerAddress,
  REQUEST_ID_HEADER,
  requestIdOf,
  type TrustedProxies,
} from "../../http/index.ts";
import type { Probes } from "../../kernel/index.ts";
import type { CompiledRoute, Router } from "../../routing/index.ts";
import { type CompleteHealthSettings, DEFAULT_PATHS } from "../../server/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import type { Readiness } from "./readiness.ts";

/** The dependencies of {@link Health}. */
export interface HealthDependencies {
  readonly settings: CompleteHealthSettings;
  readonly readiness: Readiness;
  /** Reports whether the address is about to stop responding. */
  readonly isLeaving: () => boolean;
  readonly proxies: TrustedProxies;
  /** The CORS headers, so that a front end on another origin can ask whether the server is back. */
  readonly origins: OriginHeaders;
  /** Headers that every response has. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Responds to load balancers and monitors, before any middleware: without a session, a cookie, a limit or a log line.
 *
 * Security: the response only says whether requests are served. Only clients listed in `APP.server.health.details` see which
 * check failed, and only the log says why.
 */
export class Health implements Probes {
  readonly #dependencies: HealthDependencies;
  readonly paths: ReadonlySet<string>;
  readonly #up: string | null;

  /**
   * @param router a route with one of the default paths takes precedence
   * @throws `E_INVALID_CONFIGURATION` if a route has a path that the configuration sets
   */
  constructor(dependencies: HealthDependencies, router: Router) {
    this.#dependencies = dependencies;
    const { settings } = dependencies;
    this.#up = freePath("up", settings, router);
    const ready = freePath("ready", settings, router);
    this.paths = new Set([this.#up, ready].filter((path) => path !== null));
  }

  /**
   * Responds to a request for one of the two paths.
   *
   * @param path one of {@link paths}
   * @returns `null` for any method but GET and HEAD
   */
  respond(path: string, raw: Request): Response | Promise<Response> | null {
    if (raw.method !== "GET" && raw.method !== "HEAD") return null;
    if (path === this.#up) return this.#response(raw, 200, { status: "up" });
    return this.#readiness(raw);
  }

  async #readiness(raw: Request): Promise<Response> {
    const { readiness, isLeaving } = this.#dependencies;
    // The load balancer gets a 503 anyway, so it doesn't have to wait for the checks.
    const checks = isLeaving() ? {} : await readiness.results();
    const isDraining = isLeaving();
    const isReady = !isDraining && readiness.isReady(checks);
    const details = this.#tellsDetails(raw) ? { draining: isDraining, checks } : {};
    return this.#response(raw, isReady ? 200 : 503, { status: isReady ? "ready" : "not ready", ...details });
  }

  #response(raw: Request, status: 200 | 503, content: object): Response {
    const { method, headers: sent } = raw;
    const body = `${JSON.stringify(content)}\n`;
    const headers = {
      ...this.#dependencies.headers,
      ...this.#dependencies.origins.of(sent.get("origin")),
      [REQUEST_ID_HEADER]: requestIdOf(raw, this.#dependencies.proxies),
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    };
    return new FastResponse(method === "HEAD" ? null : body, { status, headers });
  }

  #tellsDetails(raw: Request): boolean {
    const { settings, proxies } = this.#dependencies;
    // Behind a proxy that isn't listed, the client's address is unknown.
    if (proxies.isEmpty && FORWARDING.some((name) => raw.headers.has(name))) return false;
    return settings.details.trusts(proxies.resolver.resolve(raw.headers, peerAddress(raw)));
  }
}

const FORWARDING = [
  ...["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded", "x-real-ip", "via"],
  ...["cf-connecting-ip", "true-client-ip"],
] as const;

function freePath(name: "up" | "ready", settings: CompleteHealthSettings, router: Router): string | null {
  const path = settings[name];
  const own = router.routes.find((route) => isAt(route, path));
  if (own === undefined) return path;
  if (path === DEFAULT_PATHS[name]) return null;
  throw new ConfigurationError(
    `config/app.ts: APP.server.health.${name}`,
    `is ${path}, which is also the path of a route (${own.location}).`,
    "Choose another path, or remove the route.",
  );
}

function isAt({ pattern, methods }: CompiledRoute, path: string | null): boolean {
  return pattern === path && methods.includes("GET");
}
