export {
  type Application,
  type ApplicationSettings,
  type ApplicationStats,
  type CheckContext,
  type CommandContext,
  type Configuration,
  createApplication,
  createLogger,
  declareFeature,
  env,
  type Feature,
  Provider,
} from "../boot/index.ts";
export {
  CorsMiddleware,
  type FormPart,
  HttpContext,
  HttpRequest,
  HttpResponse,
  IpMiddleware,
  type Middleware,
  type Next,
  type RouteInfo,
  SecurityHeadersMiddleware,
  UploadedFile,
} from "../http/index.ts";
export {
  Container,
  HttpKernel,
  type Logger,
  type MiddlewareEntry,
  type Services,
} from "../kernel/index.ts";
export type {
  Catalogue,
  MessageKey,
  Messages,
  Sentence,
  Translate,
} from "../messages/index.ts";
export {
  type MiddlewareArguments,
  Route,
  RouteCollection,
  type RouteDefinition,
  type RouteEntry,
  type Router,
  SignedMiddleware,
} from "../routing/index.ts";
export { type RunningServer, sendResponse } from "../server/index.ts";
export {
  AshlarError,
  ConfigurationError,
  type Constructor,
  declareErrors,
  declareSecretNames,
  ERRORS,
  type ErrorCodes,
  type FieldErrors,
  type MaybePromise,
  type Message,
  type MessageValue,
  type Register,
  type RegisteredUser,
  type StatusesOf,
  ValidationError,
} from "../support/index.ts";
