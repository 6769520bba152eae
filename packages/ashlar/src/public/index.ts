export {
  type Application,
  type ApplicationOptions,
  type ApplicationSettings,
  type CommandContext,
  type Configuration,
  createApplication,
  createLogger,
  env,
  type FeatureCommand,
  Provider,
  type ProviderClass,
} from "../boot/index.ts";
export {
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
  type RouteMiddleware,
  type Services,
} from "../kernel/index.ts";
export type {
  Catalogue,
  MessageKey,
  Messages,
  Sentence,
  Sentences,
  Translate,
} from "../messages/index.ts";
export {
  type MiddlewareArguments,
  Route,
  type RouteCollection,
  type RouteDefinition,
  type RouteEntry,
  type Router,
  SignedMiddleware,
} from "../routing/index.ts";
export type { RunningServer } from "../server/index.ts";
export {
  AshlarError,
  ConfigurationError,
  type Constructor,
  declareErrors,
  declareSecretNames,
  ERRORS,
  type ErrorCode,
  type ErrorCodes,
  type FieldErrors,
  type MaybePromise,
  type Message,
  type MessageParams,
  type MessageValue,
  type Register,
  type RegisteredUser,
  ValidationError,
} from "../support/index.ts";
