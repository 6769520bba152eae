export { enterBase, parseBasePath, withBase, withoutBase } from "./addresses/base-path.ts";
export { type AddressRange, canonicalAddress, isInRanges, parseRange, UNIX_PEER } from "./addresses/client-address.ts";
export { parseHost } from "./addresses/host.ts";
export { type HostCheck, OwnHosts, parseHosts } from "./addresses/own-hosts.ts";
export { peerAddress, setPeerAddress } from "./addresses/peer-address.ts";
export { ambiguousTarget, isAmbiguousTarget, targetPath } from "./addresses/request-target.ts";
export {
  baseOf,
  isMarkedForwarded,
  markForwarded,
  requestAuthorities,
  requestAuthority,
  requestPath,
  requestSearch,
  sentTarget,
} from "./addresses/request-url.ts";
export { truncatedAddress } from "./addresses/truncated-address.ts";
export { isSameSite, parseOrigins, TrustedOrigins } from "./addresses/trusted-origins.ts";
export { parseProxies, TrustedProxies } from "./addresses/trusted-proxies.ts";
export { type BodyLimits, DEFAULT_BODY_LIMITS } from "./bodies/body.ts";
export { hasBody, inviteBody } from "./bodies/body-source.ts";
export { type ByteSource, byteStream } from "./bodies/byte-stream.ts";
export type { FormPart } from "./bodies/form-part.ts";
export { HeldBodies } from "./bodies/held-bodies.ts";
export { closeBodyWithResponse, closeWithResponse } from "./bodies/response-end.ts";
export { UploadedFile } from "./bodies/uploaded-file.ts";
export { HttpContext, type PageToReturnTo } from "./exchange/context.ts";
export {
  type CookieSite,
  cookieSuffixOf,
  domainFor,
  domainProblem,
  isWithin,
  ownCookieName,
  sharedCookieWarning,
} from "./exchange/own-cookies.ts";
export { pageContext } from "./exchange/page-context.ts";
export { absoluteTarget, ownPath, redirectTarget, trustedUrl } from "./exchange/redirect-target.ts";
export { HttpRequest } from "./exchange/request.ts";
export { mayBringIds, REQUEST_ID_HEADER, requestIdOf, sentRequestId } from "./exchange/request-id.ts";
export { isResponse, toResponse } from "./exchange/respond.ts";
export { HttpResponse } from "./exchange/response.ts";
export type {
  FieldWarnings,
  HttpServices,
  QueryParameters,
  RouteInfo,
  RouteMatch,
  RouteParameters,
  UrlGenerator,
} from "./exchange/services.ts";
export {
  isUserUnknown,
  markUserUnknown,
  noticeUnknownUser,
  shownUser,
  treatsUnknownAsGuest,
} from "./exchange/unknown-user.ts";
export { serializeCookie } from "./headers/cookies.ts";
export { CheckedHeaders } from "./headers/header-fields.ts";
export { isInBackground, isNavigation, isSpeculative } from "./headers/navigation.ts";
export { type FormFields, repeatedFields } from "./headers/repeated-fields.ts";
export { OVERRIDING_METHODS } from "./inputs/method-override.ts";
export { declareHttpMessages, HTTP_MESSAGES } from "./messages.ts";
export { CorsMiddleware } from "./middleware/cors-middleware.ts";
export { IpMiddleware } from "./middleware/ip-middleware.ts";
export type { Middleware, MiddlewareClass, MiddlewareFunction, Next } from "./middleware/middleware.ts";
export {
  NO_ORIGIN_HEADERS,
  type OriginHeaders,
  type OriginTable,
  originHeaders,
  originHeadersOf,
  originTable,
  preflightOf,
} from "./middleware/origin-headers.ts";
export { SecurityHeadersMiddleware } from "./middleware/security-headers-middleware.ts";
export { FastResponse } from "./responses/fast-response.ts";
export { FreshResponse } from "./responses/fresh-response.ts";
