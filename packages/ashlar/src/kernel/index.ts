export { Container, type ServiceKey, type Services } from "./container.ts";
export { Dispatcher, type Probes } from "./dispatch/dispatcher.ts";
export { ProxyList, throughProxies } from "./dispatch/forwarded-request.ts";
export { AnsweredError } from "./dispatch/hosted-requests.ts";
export { type FetchFunction, Mounts } from "./dispatch/mounts.ts";
export type { StaticFiles } from "./dispatch/route-choice.ts";
export { discard, prepare } from "./dispatch/sent-response.ts";
export { type BusyPages, busyPageFor, busyPages } from "./errors/busy-pages.ts";
export { ErrorHandler, type ErrorListener, type ErrorPageRenderer, refusal } from "./errors/error-handler.ts";
export { ISOLATION_HEADERS } from "./errors/error-pages.ts";
export { AWAY_PAGE, declareErrorMessages, type PageSentences, TOO_LARGE_PAGE } from "./errors/messages.ts";
export { type ErrorPageValues, type ErrorTemplates, SitePages } from "./errors/site-pages.ts";
export { BlockedRedirectWarnings } from "./log/blocked-redirect-warnings.ts";
export { beforeSecret, LoggablePaths } from "./log/loggable-path.ts";
export { redact } from "./log/redaction.ts";
export { RefusalLog } from "./log/refusal-log.ts";
export { RepeatedFieldWarnings } from "./log/repeated-field-warnings.ts";
export { ADDRESS_DETAILS, type AddressDetail, loggedAddress, RequestLog, userKey } from "./log/request-log.ts";
export type { Logger } from "./logger.ts";
export {
  entryOf,
  HttpKernel,
  type KernelClass,
  type MiddlewareEntry,
  type RouteMiddleware,
} from "./pipeline/http-kernel.ts";
export { buildRoutes, type PipelineStep } from "./pipeline/pipeline.ts";
export { isEarly, MiddlewareInstances } from "./pipeline/route-middleware.ts";
export {
  afterResponse,
  Background,
  fetchTraced,
  isGone,
  responseHandedOver,
  whenEnded,
} from "./requests/after-response.ts";
export { RequestedOrigins, underSameOrigin } from "./requests/requested-origins.ts";
export {
  beginApplication,
  type ConfigurationSections,
  currentApplication,
  currentRequestId,
  currentTrace,
  endApplication,
  outsideRequests,
  type RequestTrace,
  type RunningApplication,
  requestTraces,
  runApart,
  runFor,
  runningApplications,
} from "./requests/running-code.ts";
export {
  abortReason,
  logAbandoned,
  logCutOff,
  logResponse,
  type ServedExchange,
  servedExchange,
} from "./requests/served-request.ts";
export {
  ErrorCounts,
  LatencyCounts,
  type LatencyHistogram,
  RequestStats,
  RequestWatch,
  type RouteStats,
} from "./watch/request-watch.ts";
