import { HttpContext } from "../http/index.ts";
import { AshlarError } from "../support/index.ts";
import type { ContextClass } from "./dispatcher.ts";

/** Makes a subclass of `HttpContext` for one application, so that what is added to it is added to no other's. */
export function createContextClass(): ContextClass {
  return class ApplicationContext extends HttpContext {};
}

/**
 * Adds a property to the contexts of an application. It is made when it is first asked for, once for each context.
 *
 * @throws `E_INVALID_CONFIGURATION` where there is a property of this name
 */
export function addContextProperty(context: ContextClass, name: string, make: (context: HttpContext) => unknown): void {
  const { prototype } = context;
  if (name in prototype || name === "request" || name === "services" || name === "currentUser") {
    throw new AshlarError(
      "E_INVALID_CONFIGURATION",
      `The context has a property "${name}" already: choose another name.`,
    );
  }
  // A symbol of its own: an assignment that is alike for every context, which defining the property anew is not.
  const held = Symbol(name);
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: HttpContext & Record<symbol, unknown>): unknown {
      const value = this[held];
      if (value !== undefined || held in this) return value;
      const made = make(this);
      this[held] = made;
      return made;
    },
  });
}
