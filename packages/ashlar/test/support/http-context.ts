import {
  type AddressRange,
  DEFAULT_BODY_LIMITS,
  HeldBodies,
  HttpContext,
  type HttpServices,
  parseProxies,
  type RouteInfo,
  TrustedOrigins,
  TrustedProxies,
} from "../../src/http/index.ts";
import { Catalogue } from "../../src/messages/index.ts";

/** The parts of a test's context; everything has a default. */
export interface ContextOptions {
  readonly url?: string;
  readonly method?: string;
  readonly headers?: Record<string, string> | [string, string][];
  readonly body?: string | FormData;
  /** The address of the socket. */
  readonly ip?: string;
  readonly appUrl?: string | null;
  /** `APP.trustedProxies`; default: no proxies. */
  readonly trustedProxies?: readonly string[];
  /** `APP.trustedOrigins`; default: none. */
  readonly trustedOrigins?: readonly string[];
  /** Parts of the route that matched; default: no route matched. */
  readonly route?: Partial<RouteInfo>;
  readonly params?: Record<string, string | null>;
}

const ROUTE: RouteInfo = { name: null, pattern: "/", methods: ["GET"], middleware: [], respondsWithJson: false };

/** A context as the application would create it, for a real request whose body hasn't been read yet. */
export function makeContext(options: ContextOptions = {}): HttpContext {
  const services: HttpServices = {
    urls: {
      to: (name, parameters = {}) => `/${name}/${Object.values(parameters).join("/")}`,
      url: (path) => path,
    },
    limits: DEFAULT_BODY_LIMITS,
    bodies: new HeldBodies(DEFAULT_BODY_LIMITS),
    messages: new Catalogue(),
    appUrl: options.appUrl ?? null,
    basePath: "",
    proxies: new TrustedProxies(parseProxies(options.trustedProxies ?? []) as readonly AddressRange[]),
    origins: new TrustedOrigins(options.trustedOrigins),
    strictTransportSecurity: null,
  };
  const raw = new Request(options.url ?? "http://localhost/", {
    method: options.method ?? (options.body === undefined ? "GET" : "POST"),
    ...(options.headers === undefined ? {} : { headers: options.headers }),
    ...(options.body === undefined ? {} : { body: options.body }),
  });
  if (options.ip !== undefined) Object.defineProperty(raw, "ip", { value: options.ip });
  const match = options.route && { route: { ...ROUTE, ...options.route }, params: options.params ?? {} };
  return new HttpContext(raw, services, match ?? null);
}

/** The same, with the body read. */
export async function makeLoadedContext(options: ContextOptions = {}): Promise<HttpContext> {
  const context = makeContext(options);
  await context.request.loadBody();
  return context;
}
