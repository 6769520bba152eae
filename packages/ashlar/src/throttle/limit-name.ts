/** What the framework's features add to {@link Limits}. An application augments `Limits` itself. */
export interface FrameworkLimits {
  /** The limit that belongs to no particular feature. */
  api: true;
}

/**
 * The names of limits. A feature or an application with its own limit adds the name by declaration merging. A misspelt
 * name in `throttle:export`, `throttle.hit` or `config/throttle.ts` then does not compile:
 *
 * ```ts
 * declare module "ashlar/throttle" { interface Limits { export: true } }
 * ```
 */
export interface Limits extends FrameworkLimits {}

/** The name of a limit: `login`. */
export type LimitName = keyof Limits & string;

/** A value for each of some limits, by name. */
export type ByLimit<T> = { readonly [Name in LimitName]?: T };
