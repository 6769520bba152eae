export {
  afterResponse,
  currentRequestId,
  currentTrace,
  fetchTraced,
  isGone,
  outsideRequests,
  responseHandedOver,
  whenEnded,
} from "./after-response.ts";
export { Background } from "./background.ts";
export { Container, type Services } from "./container.ts";
export { addContextProperty, type ContextPropertyOptions, createContextClass } from "./context-class.ts";
export { Dispatcher, type Probes, type StaticFiles } from "./dispatcher.ts";
export { type BusyPages, busyPageFor, busyPages } from "./errors/busy-pages.ts";
export { ErrorCounts } from "./errors/error-counts.ts";
export { ErrorHandler, type ErrorListener, type ErrorPageRenderer, refusal } from "./errors/error-handler.ts";
export { ISOLATION_HEADERS } from "./errors/error-pages.ts";
export { AWAY_PAGE, declareErrorMessages, type PageSentences, TOO_LARGE_PAGE } from "./errors/messages.ts";
export { type ErrorPageValues, type ErrorTemplates, SitePages } from "./errors/site-pages.ts";
export { ProxyList, throughProxies } from "./forwarded-request.ts";
export { AnsweredError } from "./hosted-requests.ts";
export { entryOf, HttpKernel, type KernelClass, type MiddlewareEntry, type RouteMiddleware } from "./http-kernel.ts";
export { LatencyCounts, type LatencyHistogram } from "./latency-counts.ts";
export { beforeSecret, LoggablePaths } from "./loggable-path.ts";
export { ADDRESS_DETAILS, type AddressDetail, loggedAddress } from "./logged-address.ts";
export type { Logger } from "./logger.ts";
export { type FetchFunction, Mounts } from "./mounts.ts";
export { isEarly, MiddlewareInstances, type PipelineStep } from "./pipeline.ts";
export { discard, prepare } from "./prepared-response.ts";
export { redact } from "./redaction.ts";
export { RefusalLog } from "./refusal-log.ts";
export { RepeatedFieldWarnings } from "./repeated-field-warnings.ts";
export { RequestLog, userKey } from "./request-log.ts";
export { RequestStats, type RouteStats } from "./request-stats.ts";
export { type RequestTrace, requestTraces } from "./request-trace.ts";
export { RequestWatch } from "./request-watch.ts";
export { RequestedOrigins, underSameOrigin } from "./requested-origins.ts";
export { addRequestId } from "./returned-id.ts";
export { buildRoutes } from "./route-pipelines.ts";
export {
  beginApplication,
  type ConfigurationSections,
  currentApplication,
  endApplication,
  type RunningApplication,
  runApart,
  runFor,
  runningApplications,
} from "./running-applications.ts";
export {
  abortReason,
  logAbandoned,
  logCutOff,
  logResponse,
  type ServedExchange,
  servedExchange,
} from "./served-request.ts";
