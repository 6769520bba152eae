export { enterBase, parseBasePath, withBase, withoutBase } from "./base-path.ts";
export { type BodyLimits, DEFAULT_BODY_LIMITS } from "./body.ts";
export { hasBody, inviteBody } from "./body-source.ts";
export { type ByteSource, byteStream } from "./byte-stream.ts";
export { type AddressRange, canonicalAddress, isInRanges, parseRange, UNIX_PEER } from "./client-address.ts";
export { HttpContext, type PageToReturnTo } from "./context.ts";
export { serializeCookie } from "./cookies.ts";
export { CorsMiddleware } from "./cors-middleware.ts";
export { FastResponse } from "./fast-response.ts";
export type { FormPart } from "./form-part.ts";
export { FreshResponse } from "./fresh-response.ts";
export { CheckedHeaders } from "./header-fields.ts";
export { HeldBodies } from "./held-bodies.ts";
export { parseHost } from "./host.ts";
export { IpMiddleware } from "./ip-middleware.ts";
export { declareHttpMessages, HTTP_MESSAGES } from "./messages.ts";
export { OVERRIDING_METHODS } from "./method-override.ts";
export type { Middleware, MiddlewareClass, MiddlewareFunction, Next } from "./middleware.ts";
export { isInBackground, isNavigation, isSpeculative } from "./navigation.ts";
export {
  NO_ORIGIN_HEADERS,
  type OriginHeaders,
  type OriginTable,
  originHeaders,
  originHeadersOf,
  originTable,
  preflightOf,
} from "./origin-headers.ts";
export {
  type CookieSite,
  cookieSuffixOf,
  domainFor,
  domainProblem,
  isWithin,
  ownCookieName,
  sharedCookieWarning,
} from "./own-cookies.ts";
export { type HostCheck, OwnHosts, parseHosts } from "./own-hosts.ts";
export { pageContext } from "./page-context.ts";
export { peerAddress, setPeerAddress } from "./peer-address.ts";
export { absoluteTarget, ownPath, redirectTarget, trustedUrl } from "./redirect-target.ts";
export { type FormFields, repeatedFields } from "./repeated-fields.ts";
export { HttpRequest } from "./request.ts";
export { mayBringIds, REQUEST_ID_HEADER, requestIdOf, sentRequestId } from "./request-id.ts";
export { ambiguousTarget, isAmbiguousTarget, targetPath } from "./request-target.ts";
export {
  baseOf,
  isMarkedForwarded,
  markForwarded,
  requestAuthorities,
  requestAuthority,
  requestPath,
  requestSearch,
  sentTarget,
} from "./request-url.ts";
export { isResponse, toResponse } from "./respond.ts";
export { HttpResponse } from "./response.ts";
export { closeBodyWithResponse, closeWithResponse } from "./response-end.ts";
export { SecurityHeadersMiddleware } from "./security-headers-middleware.ts";
export type {
  FieldWarnings,
  HttpServices,
  QueryParameters,
  RouteInfo,
  RouteMatch,
  RouteParameters,
  UrlGenerator,
} from "./services.ts";
export { truncatedAddress } from "./truncated-address.ts";
export { isSameSite, parseOrigins, TrustedOrigins } from "./trusted-origins.ts";
export { parseProxies, TrustedProxies } from "./trusted-proxies.ts";
export { isUserUnknown, markUserUnknown, noticeUnknownUser, shownUser, treatsUnknownAsGuest } from "./unknown-user.ts";
export { UploadedFile } from "./uploaded-file.ts";
