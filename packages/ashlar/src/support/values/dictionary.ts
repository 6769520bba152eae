import type { Dictionary } from "./kinds.ts";

/** Names through which a plain object's prototype could be reached; never stored and never followed. */
const PROTOTYPE_NAMES: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Creates an empty dictionary: a plain object without a prototype. */
export function dictionary<T = unknown>(): Dictionary<T> {
  return Object.create(null) as Dictionary<T>;
}

/** Reports whether a name could lead to a prototype, and so must be neither stored nor followed. */
export function isPrototypeName(name: string): boolean {
  return PROTOTYPE_NAMES.has(name);
}

/** Reports whether a value is an object literal or a dictionary: not a list, class instance or `null`. */
export function isPlainObject(value: unknown): value is Dictionary {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
