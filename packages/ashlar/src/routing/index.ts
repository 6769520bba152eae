export type { SourceLocation } from "../support/index.ts";
export type { BodyLimit } from "./body-limit.ts";
export type { CompiledMatch, CompiledRoute } from "./compiled-route.ts";
export type {
  ActionName,
  ControllerAction,
  ControllerClass,
  HttpMethod,
  RedirectAction,
  RouteAction,
  RouteFunction,
  RouteHandler,
  ViewAction,
} from "./controller-action.ts";
export type { ApiAction, PageAction, ResourceController, ResourceOptions } from "./resource.ts";
export { Route, type RouteBuilder } from "./route.ts";
export { type GroupOptions, RouteCollection, type RouteEntry } from "./route-collection.ts";
export { type ResourceOrigin, type RouteAttributes, RouteDefinition } from "./route-definition.ts";
export type { RouteSource } from "./route-source.ts";
export { Router, type RouterOptions } from "./router.ts";
export { type SignatureChecker, SignedMiddleware, type SignedMiddlewareServices } from "./signed-middleware.ts";
export type { SignedUrlOptions } from "./signed-url.ts";
export type { ValueSigner } from "./value-signer.ts";
