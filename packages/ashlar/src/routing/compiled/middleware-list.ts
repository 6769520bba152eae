/**
 * Returns the middleware that applies to a route, outermost first, each text once.
 *
 * @param names the middleware of the routes file, the groups and the route, outermost first
 * @param without exact texts (`guard:jwt`), or names (`guard`), which remove every text of that name
 */
export function activeMiddleware(names: readonly string[], without: readonly string[]): readonly string[] {
  const removed = new Set(without);
  return Object.freeze([...new Set(names)].filter((text) => !removed.has(text) && !removed.has(nameOf(text))));
}

/** Reports whether a list names a middleware, with or without arguments. */
export function usesMiddleware(texts: readonly string[], name: string): boolean {
  return texts.some((text) => nameOf(text) === name);
}

/** Reports whether everything in a list can name middleware. */
export function areMiddlewareNames(texts: readonly unknown[]): boolean {
  return texts.every((text) => typeof text === "string" && nameOf(text).trim() !== "");
}

/** The part before the colon. */
function nameOf(text: string): string {
  const colon = text.indexOf(":");
  return colon === -1 ? text : text.slice(0, colon);
}
