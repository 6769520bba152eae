import type { RouteAction } from "./controller-action.ts";

/** How a function of a feature made a route, whatever an application has changed since. */
export interface RouteMark {
  /** The function, as the feature lists it in its `routes`: `Auth.routes`. */
  readonly madeBy: string;
  /** The middleware that the route was made with. */
  readonly middleware: readonly string[];
  /** The limit that its handler counts under, without middleware; `null` if it doesn't. */
  readonly countsBy: string | null;
}

/** The marks by controller and method, so that an application's own routes for a method are recognized too. */
const ofMethods = new WeakMap<object, Map<string, RouteMark>>();

/** Remembers the mark of a route for its controller's method. */
export function markAction(action: RouteAction, mark: RouteMark): void {
  if (!Array.isArray(action)) return;
  const [controller, method] = action as readonly [object, string];
  if (typeof controller !== "function") return;
  const marks = ofMethods.get(controller) ?? new Map<string, RouteMark>();
  ofMethods.set(controller, marks.set(method, mark));
}

/** The mark of a controller's method, or of the method that it overrides; `null` if no feature has made a route for it. */
export function markOfAction(action: RouteAction): RouteMark | null {
  if (!Array.isArray(action)) return null;
  const [controller, method] = action as readonly [unknown, string];
  for (let one = controller; typeof one === "function"; one = Object.getPrototypeOf(one)) {
    const mark = ofMethods.get(one)?.get(method);
    if (mark !== undefined) return mark;
  }
  return null;
}
