/** What the framework's features add to {@link Limits}. An application augments `Limits` itself. */
export interface FrameworkLimits {
  /** The limit that no feature has to itself. */
  api: true;
}

/**
 * The names of limits. A feature or an application that has its own adds the name by declaration merging, so that a
 * misspelt one in `throttle:export`, in `throttle.hit` or in `config/throttle.ts` does not compile:
 *
 * ```ts
 * declare module "ashlar/throttle" { interface Limits { export: true } }
 * ```
 */
export interface Limits extends FrameworkLimits {}

/** The name of a limit: `login`. */
export type LimitName = keyof Limits & string;

/** Something for each of some limits, by name. */
export type ByLimit<T> = { readonly [Name in LimitName]?: T };
