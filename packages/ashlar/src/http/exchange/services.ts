import type { Catalogue } from "../../messages/index.ts";
import type { Dictionary } from "../../support/index.ts";
import type { TrustedProxies } from "../addresses/client-address.ts";
import type { TrustedOrigins } from "../addresses/trusted-origins.ts";
import type { BodyLimits } from "../bodies/body.ts";
import type { FormFields } from "../bodies/form-parser.ts";
import type { HeldBodies } from "../bodies/held-bodies.ts";
import type { CheckedHeaders } from "../headers/header-fields.ts";

/** Values for the parameters of a route's pattern, by name. */
export type RouteParameters = Readonly<Dictionary<string | number | null | undefined>>;

/** Values for the query of a URL, by name. */
export type QueryParameters = Readonly<Dictionary<string | number | boolean | null | undefined>>;

/** Makes URLs from the names of routes. */
export interface UrlGenerator {
  /**
   * The path of a named route.
   *
   * @throws `E_UNKNOWN_ROUTE`, `E_MISSING_ROUTE_PARAMETER`, `E_INVALID_ROUTE_PARAMETER`
   */
  to(name: string, parameters?: RouteParameters, query?: QueryParameters): string;
  /** A path of the application as visitors see it: prefixed with the path of `APP_URL`, if there is one. */
  url(path: string): string;
}

/** The parts of the application that a context needs; one frozen object for all requests. */
export interface HttpServices {
  readonly urls: UrlGenerator;
  readonly limits: BodyLimits;
  /** The bodies that are held while their requests are handled. */
  readonly bodies: HeldBodies;
  /** The sentences that visitors read, in the application's languages. */
  readonly messages: Catalogue;
  /** The origin of `APP_URL`, such as `https://shop.example`; `null` if it is not configured. */
  readonly appUrl: string | null;
  /** The path of `APP_URL` without a slash at its end: `/shop`; `""` if the application is at the root. */
  readonly basePath: string;
  /** `Strict-Transport-Security` (RFC 6797 §6.1) for every response; `null` to leave it out. */
  readonly strictTransportSecurity: CheckedHeaders | null;
  /** The application's own proxies, whose forwarding headers are trusted. */
  readonly proxies: TrustedProxies;
  /** The other origins that are part of the application. */
  readonly origins: TrustedOrigins;
  /** Warns about fields that lose values; `null` or omitted except in development. */
  readonly fieldWarnings?: FieldWarnings | null;
  /** Warns about redirects that browsers block; `null` or omitted in production. */
  readonly redirectWarnings?: RedirectWarnings | null;
}

/** Warns the developer about fields that were sent more than once, of which only the last value is kept. */
export interface FieldWarnings {
  /** @param route returns the request's route, once it has been decided */
  look(fields: FormFields, route: () => RouteInfo | null): void;
}

/** Warns the developer about redirects out of the application that browsers block after a form. */
export interface RedirectWarnings {
  /**
   * @param route the route that responds to the form
   * @param policy the response's `Content-Security-Policy`, which the form's page has as well
   * @param target where the redirect leads
   */
  look(route: RouteInfo | null, policy: string, target: string): void;
}

/** A request's data about its matched route. */
export interface RouteInfo {
  readonly name: string | null;
  /** The pattern as written, including prefixes: `/orders/@id:int`. */
  readonly pattern: string;
  readonly methods: readonly string[];
  /** The active middleware, outermost first, as written: `guard:jwt`. */
  readonly middleware: readonly string[];
  /** Whether the route, including its errors, responds with JSON whatever the caller accepts. */
  readonly respondsWithJson: boolean;
  /** The largest body that the route accepts, in bytes; `null` or omitted if the application's limits apply. */
  readonly bodyLimitBytes?: number | null;
  /** Whether the body is left to the handler, which streams it; default: `false`. */
  readonly streamsBody?: boolean;
  /** Whether the files of a form are left to the handler, which streams them; default: `false`. */
  readonly streamsFiles?: boolean;
}

/** A route in messages and findings: `POST /orders`. */
export function routeLabel({ methods, pattern }: Pick<RouteInfo, "methods" | "pattern">): string {
  return `${methods.join("|")} ${pattern}`;
}

/**
 * A route, and the values that its pattern captured from the URL (decoded; `null` for a missing optional parameter).
 */
export interface RouteMatch {
  readonly route: RouteInfo;
  readonly params: Readonly<Dictionary<string | null>>;
}
