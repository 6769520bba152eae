export type { CompiledMatch, CompiledRoute } from "./compiled-route.ts";
export type {
  ControllerClass,
  RedirectAction,
  ViewAction,
} from "./controller-action.ts";
export { declareRoutingMessages } from "./messages.ts";
export type { MiddlewareArguments } from "./middleware-name.ts";
export { ownCompilers } from "./own-compilers.ts";
export { Route } from "./route.ts";
export { flattenEntries, RouteCollection, type RouteEntry } from "./route-collection.ts";
export { RouteDefinition } from "./route-definition.ts";
export type { RouteSource } from "./route-source.ts";
export { Router } from "./router.ts";
export { SignedMiddleware } from "./signed-middleware.ts";
