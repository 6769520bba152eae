import { AshlarError } from "../support/index.ts";
import type { HttpContext } from "./context.ts";

export const JSON_TYPE = "application/json; charset=utf-8";
export const HTML_TYPE = "text/html; charset=utf-8";
export const TEXT_TYPE = "text/plain; charset=utf-8";

/** The route that answers, for a message to its author. */
function routeOf(context: HttpContext): string {
  const route = context.request.route();
  if (route === null) return "The answer";
  const name = route.name === null ? "" : ` ("${route.name}")`;
  return `The answer of the route ${route.methods.join("|")} ${route.pattern}${name}`;
}

/** The error for a result that no answer can be made of. */
export function unserializable(context: HttpContext, problem: string, cause?: unknown): AshlarError {
  return new AshlarError("E_UNSERIALIZABLE_RESULT", `${routeOf(context)} ${problem}`, { cause });
}

/** What a value is that JSON makes nothing of. */
function kindOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return `a ${typeof value}`;
  return `an object of ${value.constructor?.name ?? "no class"} whose toJSON gives nothing`;
}

/**
 * A value as JSON text.
 *
 * @throws `E_UNSERIALIZABLE_RESULT`, with the route's name, for a value that refers to itself, a BigInt, a function, a
 * symbol and anything else JSON cannot hold; an error of the framework thrown by a `toJSON` as it is
 */
export function serialize(context: HttpContext, value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    if (error instanceof AshlarError) throw error;
    // Of a circle, the message goes on to draw it.
    const [problem] = String((error as Error).message).split("\n");
    throw unserializable(context, `cannot be written as JSON: ${problem}`, error);
  }
  if (text === undefined) throw unserializable(context, `is ${kindOf(value)}, which JSON cannot hold.`);
  return text;
}
