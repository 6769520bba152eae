import { HttpContext } from "../../http/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { ContextClass } from "./dispatcher.ts";

/** Makes a subclass of `HttpContext` for one application, so that additions to it do not affect other applications. */
export function createContextClass(): ContextClass {
  return class ApplicationContext extends HttpContext {};
}

/** Options of a property of the context. */
export interface ContextPropertyOptions {
  /** Whether the value of the first access is kept for the request; default: `true`. */
  readonly isKept?: boolean;
}

/**
 * Adds a property to the contexts of an application. Its value is created on first access, once for each context, unless
 * the options say otherwise.
 *
 * @throws `E_INVALID_CONFIGURATION` if a property of this name exists
 */
export function addContextProperty(
  context: ContextClass,
  name: string,
  make: (context: HttpContext) => unknown,
  { isKept = true }: ContextPropertyOptions = {},
): void {
  const { prototype } = context;
  if (name in prototype || name === "request" || name === "services" || name === "currentUser") {
    throw new AshlarError(
      "E_INVALID_CONFIGURATION",
      `The context already has a property "${name}". Choose another name.`,
    );
  }
  if (!isKept) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      get(this: HttpContext): unknown {
        return make(this);
      },
    });
    return;
  }
  // A symbol per property keeps the assignment the same for every context; redefining the property would not.
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
