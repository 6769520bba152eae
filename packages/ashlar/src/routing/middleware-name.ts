/** What the framework's features add to {@link MiddlewareArguments}. An application augments `MiddlewareArguments` itself. */
// biome-ignore lint/suspicious/noEmptyInterface: empty, because features augment it.
export interface FrameworkMiddlewareArguments {}

/**
 * The arguments that routes may write after a middleware's colon, by its name. Middleware that isn't listed takes any
 * text. To have the compiler check `.middleware("plan:gold")`, declare the arguments by declaration merging:
 *
 * ```ts
 * declare module "ashlar" { interface MiddlewareArguments { plan: "silver" | "gold" } }
 * ```
 */
export interface MiddlewareArguments extends FrameworkMiddlewareArguments {}

/** A route parameter, which gets its value from each request: `guard:@name`. */
type FromRoute = `${"@" | "?"}${string}`;

/**
 * The text that names middleware in a route: the text itself, unless {@link MiddlewareArguments} lists other arguments.
 * Text that the compiler doesn't know is checked at boot only.
 */
export type MiddlewareName<Text extends string> =
  Text extends `${infer Name extends keyof MiddlewareArguments & string}:${infer Given}`
    ? string extends Given
      ? Text
      : Given extends MiddlewareArguments[Name] | FromRoute
        ? Text
        : `${Name}:${MiddlewareArguments[Name] & string}`
    : Text;
