import type { TrustedOrigins } from "../addresses/trusted-origins.ts";
import type { CorsMiddleware, Preflight } from "./cors-middleware.ts";

/**
 * The headers that let pages on other origins read responses that no middleware sees: those of a server that is
 * overloaded or shutting down, and those to health checks.
 */
export interface OriginHeaders {
  /** The headers for a response to a page on an origin. */
  of(origin: string | null): Readonly<Record<string, string>>;
  /** The headers for the response to a preflight request from a trusted origin; `null` for any other request. */
  ofPreflight(request: Preflight): Readonly<Record<string, string>> | null;
}

/** The headers for applications without other origins. */
export const NO_ORIGIN_HEADERS: OriginHeaders = Object.freeze({ of: () => ({}), ofPreflight: () => null });

/** Returns the headers that an application's CORS middleware would have set. */
export function originHeaders(cors: CorsMiddleware | null, origins: TrustedOrigins): OriginHeaders {
  if (cors === null || origins.isEmpty) return NO_ORIGIN_HEADERS;
  return {
    of: (origin) => cors.unseen(origins, origin),
    ofPreflight: (request) => cors.unseenPreflight(origins, request),
  };
}

/** {@link OriginHeaders} as data, for another process. */
export interface OriginTable {
  /** The headers for a response to any other origin's page, or to no page. */
  readonly others: Readonly<Record<string, string>>;
  /** By trusted origin. */
  readonly trusted: Readonly<Record<string, { readonly headers: Fields; readonly preflight: Fields | null }>>;
}

type Fields = Readonly<Record<string, string>>;

/** Converts {@link OriginHeaders} to data. */
export function originTable(headers: OriginHeaders, { list }: TrustedOrigins): OriginTable {
  const preflight = { method: "OPTIONS", requestedMethod: "GET" };
  const trusted = list.map((origin) => {
    return [origin, { headers: headers.of(origin), preflight: headers.ofPreflight({ ...preflight, origin }) }] as const;
  });
  return { others: headers.of(null), trusted: Object.fromEntries(trusted) };
}

/** Reads the data from {@link originTable}. */
export function originHeadersOf({ others, trusted }: OriginTable): OriginHeaders {
  const listed = new Map(Object.entries(trusted));
  return {
    of: (origin) => listed.get(origin ?? "")?.headers ?? others,
    ofPreflight({ method, origin, requestedMethod }) {
      const isPreflight = method === "OPTIONS" && requestedMethod !== null;
      return isPreflight ? (listed.get(origin ?? "")?.preflight ?? null) : null;
    },
  };
}

/** The part of a request that its headers depend on. */
export function preflightOf({ method, headers }: Request): Preflight {
  const requestedMethod = headers.get("access-control-request-method");
  return { method, origin: headers.get("origin"), requestedMethod };
}
