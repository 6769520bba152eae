/** What the framework's features add to {@link MiddlewareArguments}. An application augments `MiddlewareArguments` itself. */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that features can augment it.
export interface FrameworkMiddlewareArguments {}

/**
 * What routes may write after the colon of a middleware, by the middleware's name. Others take any text. So that
 * `.middleware("plan:gold")` is checked when it is compiled, name the arguments by declaration merging:
 *
 * ```ts
 * declare module "ashlar" { interface MiddlewareArguments { plan: "silver" | "gold" } }
 * ```
 */
export interface MiddlewareArguments extends FrameworkMiddlewareArguments {}

/** A parameter of the route, whose value is known when there is a request: `guard:@name`. */
type FromRoute = `${"@" | "?"}${string}`;

/**
 * A middleware as a route names it: the text itself, unless {@link MiddlewareArguments} says that its arguments are others.
 * Text that is not known when it is compiled is checked at boot only.
 */
export type MiddlewareName<Text extends string> =
  Text extends `${infer Name extends keyof MiddlewareArguments & string}:${infer Given}`
    ? string extends Given
      ? Text
      : Given extends MiddlewareArguments[Name] | FromRoute
        ? Text
        : `${Name}:${MiddlewareArguments[Name] & string}`
    : Text;
