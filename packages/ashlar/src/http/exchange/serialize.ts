import { AshlarError } from "../../support/index.ts";
import type { HttpContext } from "./context.ts";
import { routeLabel } from "./services.ts";
import "../errors.ts";

export const JSON_TYPE = "application/json; charset=utf-8";
export const HTML_TYPE = "text/html; charset=utf-8";
export const TEXT_TYPE = "text/plain; charset=utf-8";

/** The matching route, as named in a message to the developer. */
function routeOf(context: HttpContext): string {
  const route = context.request.route();
  if (route === null) return "The response";
  const name = route.name === null ? "" : ` ("${route.name}")`;
  return `The response of the route ${routeLabel(route)}${name}`;
}

/** The error for a result that cannot become a response. */
export function unserializable(context: HttpContext, problem: string, cause?: unknown): AshlarError {
  return new AshlarError("E_UNSERIALIZABLE_RESULT", `${routeOf(context)} ${problem}`, { cause });
}

/** Describes a value that JSON cannot represent. */
function kindOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return `a ${typeof value}`;
  return `an object of ${value.constructor?.name ?? "no class"} whose toJSON returns nothing`;
}

/**
 * Returns a value as JSON text.
 *
 * @throws `E_UNSERIALIZABLE_RESULT`, with the route's name, for a circular value, a BigInt, a function, a symbol and
 *   anything else JSON cannot represent; an error of the framework thrown by a `toJSON` is passed on
 */
export function serialize(context: HttpContext, value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    if (error instanceof AshlarError) throw error;
    // For a circular value, the rest of the message is a drawing of the circle.
    const [problem] = String((error as Error).message).split("\n");
    throw unserializable(context, `cannot be written as JSON: ${problem}`, error);
  }
  if (text === undefined) throw unserializable(context, `is ${kindOf(value)}, which JSON cannot represent.`);
  return text;
}
