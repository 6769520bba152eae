import type { CorsMiddleware, Preflight } from "./cors-middleware.ts";
import type { TrustedOrigins } from "./trusted-origins.ts";

/**
 * The headers by which pages of other origins may read responses that no middleware sees: those of an overloaded server, of
 * one that shuts down, and to health checks.
 */
export interface OriginHeaders {
  /** The headers of a response to a page of an origin. */
  of(origin: string | null): Readonly<Record<string, string>>;
  /** The headers of the response to a preflight request of a trusted origin; `null` if it is none. */
  ofPreflight(request: Preflight): Readonly<Record<string, string>> | null;
}

/** For applications that no other origin may use. */
export const NO_ORIGIN_HEADERS: OriginHeaders = Object.freeze({ of: () => ({}), ofPreflight: () => null });

/** Makes the headers that an application's own middleware would have set. */
export function originHeaders(cors: CorsMiddleware | null, origins: TrustedOrigins): OriginHeaders {
  if (cors === null || origins.isEmpty) return NO_ORIGIN_HEADERS;
  return {
    of: (origin) => cors.unseen(origins, origin),
    ofPreflight: (request) => cors.unseenPreflight(origins, request),
  };
}

/** The part of a request that decides about its headers. */
export function preflightOf({ method, headers }: Request): Preflight {
  const requestedMethod = headers.get("access-control-request-method");
  return { method, origin: headers.get("origin"), requestedMethod };
}
