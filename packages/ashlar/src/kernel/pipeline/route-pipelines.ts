import type { CompiledRoute } from "../../routing/index.ts";
import { AshlarError, type ErrorCode } from "../../support/index.ts";
import type { Container } from "../container.ts";
import { Handlers } from "./handlers.ts";
import type { RouteMiddleware } from "./http-kernel.ts";
import { compose, composeWithBody, type MiddlewareInstances, type Run } from "./pipeline.ts";
import { NamedMiddleware } from "./route-middleware.ts";
import "../../routing/index.ts";

/**
 * Builds each route's pipeline, and collects all problems before it throws.
 *
 * @throws `E_INVALID_ROUTE`, or the code that all problems share, each with the location of its route
 */
export function buildRoutes(
  routes: readonly CompiledRoute[],
  routeMiddleware: RouteMiddleware,
  instances: MiddlewareInstances,
  container: Container,
): void {
  const named = new NamedMiddleware(routeMiddleware, instances);
  const handlers = new Handlers(container);
  const problems: { readonly code: ErrorCode; readonly text: string; readonly cause: AshlarError }[] = [];
  for (const route of routes) {
    try {
      const steps = named.stepsOf(route);
      const handler = mayChange(route) ? beginning(handlers.of(route)) : handlers.of(route);
      route.run = compose(steps, handler);
      route.runWithBody = composeWithBody(steps, handler);
    } catch (error) {
      if (!(error instanceof AshlarError)) throw error;
      const { code, message } = error;
      problems.push({
        code,
        text: `${route.location}: ${route.methods.join(", ")} ${route.pattern}: ${message}`,
        cause: error,
      });
    }
  }
  const [first] = problems;
  if (first === undefined) return;
  const code = problems.every((problem) => problem.code === first.code) ? first.code : "E_INVALID_ROUTE";
  const texts = [...new Set(problems.map((problem) => problem.text))];
  throw new AshlarError(code, texts.join("\n"), { cause: first.cause });
}

function mayChange({ methods }: CompiledRoute): boolean {
  return methods.some((method) => method !== "GET" && method !== "HEAD" && method !== "OPTIONS");
}

/** Records that a handler has begun. What fails before has changed nothing. */
function beginning(handler: Run): Run {
  return (context) => {
    context.wasHandled = true;
    return handler(context);
  };
}
