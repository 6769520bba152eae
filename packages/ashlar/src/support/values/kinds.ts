/** A class that can be instantiated with any arguments. */
// biome-ignore lint/suspicious/noExplicitAny: TypeScript requires `any[]` for a class that a mixin extends.
export type Constructor<T = object> = new (...args: any[]) => T;

/** A value, or the promise of one. */
export type MaybePromise<T> = T | Promise<T>;

/** Environment variables by name. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** A plain object without a prototype. Names that a client has chosen are safe in it. */
export type Dictionary<T = unknown> = { [key: string]: T };

/** Reports whether something is a class. The prototype of a class can't be reassigned, but a function's can. */
export function isClass(value: object): boolean {
  return Object.getOwnPropertyDescriptor(value, "prototype")?.writable === false;
}

/** Reports whether a value is a promise, either native or a library's. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/**
 * Reports whether a result is a native promise. `instanceof` alone would read a response's prototypes, which makes
 * Node.js load its `fetch`; see `inheritLate`.
 */
export function isPromise<T>(result: MaybePromise<T>): result is Promise<T> {
  return isThenable(result) && result instanceof Promise;
}

/** Reports whether a value is a class, or extends it. */
export function isOrExtends(value: unknown, parent: object): boolean {
  return value === parent || (typeof value === "function" && Object.prototype.isPrototypeOf.call(parent, value));
}

/** The names that lead to a plain object's prototype. They are never stored and never followed. */
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
