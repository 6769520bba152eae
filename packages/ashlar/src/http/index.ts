export {
  type AddressRange,
  canonicalAddress,
  isAddress,
  isInRanges,
  parseProxies,
  parseRange,
  peerAddress,
  setPeerAddress,
  TrustedProxies,
  UNIX_PEER,
} from "./addresses/client-address.ts";
export { parseHost } from "./addresses/host.ts";
export { type HostCheck, OwnHosts, parseHosts } from "./addresses/own-hosts.ts";
export {
  ambiguousTarget,
  baseOf,
  enterBase,
  isAmbiguousTarget,
  isMarkedForwarded,
  markForwarded,
  parseBasePath,
  requestAuthorities,
  requestAuthority,
  requestPath,
  requestSearch,
  sentTarget,
  targetPath,
  withBase,
  withoutBase,
} from "./addresses/request-url.ts";
export { truncatedAddress } from "./addresses/truncated-address.ts";
export { isSameSite, parseOrigins, TrustedOrigins } from "./addresses/trusted-origins.ts";
export { type BodyLimits, DEFAULT_BODY_LIMITS } from "./bodies/body.ts";
export { hasBody, inviteBody } from "./bodies/body-source.ts";
export { type ByteSource, byteStream } from "./bodies/byte-stream.ts";
export { type FormFields, repeatedFields } from "./bodies/form-parser.ts";
export type { FormPart } from "./bodies/form-part.ts";
export { HeldBodies } from "./bodies/held-bodies.ts";
export { closeBodyWithResponse, closeWithResponse } from "./bodies/response-end.ts";
export { UploadedFile } from "./bodies/uploaded-file.ts";
export {
  addContextProperty,
  type ContextClass,
  type ContextPropertyOptions,
  createContextClass,
  HttpContext,
  isUserUnknown,
  markUserUnknown,
  noticeUnknownUser,
  type PageToReturnTo,
  pageContext,
  shownUser,
  treatsUnknownAsGuest,
} from "./exchange/context.ts";
export {
  type CookieSite,
  cookieSuffixOf,
  domainFor,
  domainProblem,
  isWithin,
  ownCookieName,
  serializeCookie,
  sharedCookieWarning,
} from "./exchange/cookies.ts";
export { absoluteTarget, ownPath, redirectTarget, trustedUrl } from "./exchange/redirect-target.ts";
export { HttpRequest } from "./exchange/request.ts";
export {
  addRequestId,
  mayBringIds,
  REQUEST_ID_HEADER,
  requestIdOf,
  returningSentId,
} from "./exchange/request-id.ts";
export { isResponse, toResponse } from "./exchange/respond.ts";
export { HttpResponse } from "./exchange/response.ts";
export {
  type FieldWarnings,
  type HttpServices,
  type QueryParameters,
  type RedirectWarnings,
  type RouteInfo,
  type RouteMatch,
  type RouteParameters,
  routeLabel,
  type UrlGenerator,
} from "./exchange/services.ts";
export { CheckedHeaders } from "./headers/header-fields.ts";
export { isInBackground, isNavigation, isSpeculative } from "./headers/navigation.ts";
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
export { FastResponse, FreshResponse } from "./responses/fast-response.ts";
