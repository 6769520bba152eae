/** A class that can be instantiated with any arguments. */
// biome-ignore lint/suspicious/noExplicitAny: TypeScript requires `any[]` for a class that a mixin extends.
export type Constructor<T = object> = new (...args: any[]) => T;

/** A value, or the promise of one. */
export type MaybePromise<T> = T | Promise<T>;

/** Environment variables by name. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** A plain object without a prototype, which holds the request's inputs. */
export type Dictionary<T = unknown> = { [key: string]: T };
