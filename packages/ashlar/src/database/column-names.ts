import { AshlarError, isPrototypeName } from "../support/index.ts";

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** Tells whether a name may be used as a column's, wherever it comes from. */
export function isColumnName(name: unknown): name is string {
  return typeof name === "string" && IDENTIFIER.test(name) && !isPrototypeName(name);
}

/**
 * Checks a name that is to be used as a column's.
 *
 * @throws `E_INVALID_QUERY` where it is no identifier
 */
export function columnName(name: unknown): string {
  if (isColumnName(name)) return name;
  throw new AshlarError("E_INVALID_QUERY", `${JSON.stringify(name)} cannot be the name of a column.`);
}

/** The table a model has where it names none: `OrderLine` → `order_lines`. */
export function tableName(className: string): string {
  const noun = className
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .toLowerCase();
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
}
