import type { CompiledRoute } from "../routing/index.ts";

/** What answers a route, in a few words: `OrdersController.show`, `view welcome`, `redirect /home`, `function`. */
export function describeHandler({ handler }: CompiledRoute): string {
  if (typeof handler === "function") return handler.name === "" ? "function" : handler.name;
  if (!("kind" in handler)) return `${handler[0].name}.${handler[1]}`;
  return handler.kind === "view" ? `view ${handler.template}` : `redirect ${handler.to}`;
}
