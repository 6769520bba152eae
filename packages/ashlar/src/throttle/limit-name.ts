/** The limits that the framework's features add to {@link Limits}. Applications augment `Limits` itself. */
export interface FrameworkLimits {
  /** The limit that belongs to no particular feature. */
  api: true;
}

/**
 * The names of limits. A feature or an application adds the names of its own limits by declaration merging, so that a
 * misspelled name in `throttle:export`, `throttle.hit` or `config/throttle.ts` doesn't compile:
 *
 * ```ts
 * declare module "ashlar/throttle" { interface Limits { export: true } }
 * ```
 */
export interface Limits extends FrameworkLimits {}

/** The name of a limit: `login`. */
export type LimitName = keyof Limits & string;

/** Values for some of the limits, by name. */
export type ByLimit<T> = { readonly [Name in LimitName]?: T };
