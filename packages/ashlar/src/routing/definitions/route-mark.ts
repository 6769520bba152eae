import type { RouteAction } from "./controller-action.ts";

/** Which of a feature's functions made a route, and how, regardless of what the application has changed since. */
export interface RouteMark {
  /** The function's name, as in the feature's `routes`: `Auth.routes`. */
  readonly madeBy: string;
  /** The middleware that the route was made with. */
  readonly middleware: readonly string[];
  /** The limit that the handler itself counts against, without middleware; `null` if there isn't one. */
  readonly countsBy: string | null;
}

/** The marks by controller and method, to recognize an application's own routes for the same method too. */
const ofMethods = new WeakMap<object, Map<string, RouteMark>>();

/** Stores a route's mark under its controller's method. */
export function markAction(action: RouteAction, mark: RouteMark): void {
  if (!Array.isArray(action)) return;
  const [controller, method] = action as readonly [object, string];
  if (typeof controller !== "function") return;
  const marks = ofMethods.get(controller) ?? new Map<string, RouteMark>();
  ofMethods.set(controller, marks.set(method, mark));
}

/**
 * The mark of a controller's method, or of the method that it overrides in a parent class; `null` if no feature has
 * made a route for it.
 */
export function markOfAction(action: RouteAction): RouteMark | null {
  if (!Array.isArray(action)) return null;
  const [controller, method] = action as readonly [unknown, string];
  for (let one = controller; typeof one === "function"; one = Object.getPrototypeOf(one)) {
    const mark = ofMethods.get(one)?.get(method);
    if (mark !== undefined) return mark;
  }
  return null;
}
