import { AshlarError, isPrototypeName } from "../support/index.ts";
import { ColumnValueError } from "./column-value-error.ts";
import type { ColumnValue } from "./dialect.ts";
import "./errors.ts";

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

/**
 * Checks a value that a column is to be compared with or set to, whatever the compiler was told: a list or an object
 * from a request would mean one thing to one driver and another to the next.
 *
 * @throws `E_INVALID_INPUT` (422), or `E_INVALID_QUERY` for what no request can hold; the message does not hold the value
 */
export function columnValue(column: string, value: unknown): ColumnValue {
  switch (typeof value) {
    case "string":
      if (isStorableText(value)) return value;
      break;
    case "bigint":
    case "boolean":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      break;
    case "object":
      if (value === null || value instanceof Uint8Array) return value;
      if (value instanceof Date && !Number.isNaN(value.getTime())) return value;
      break;
  }
  const problem = `The column "${column}" cannot hold, or be compared with, ${kindOf(value)}.`;
  if (!mayBeInput(value)) throw new AshlarError("E_INVALID_QUERY", problem);
  const remedy = typeof value === "object" ? ' Objects and lists are stored by the cast "json".' : "";
  throw new ColumnValueError(column, problem + remedy);
}

/**
 * Checks the value of a primary key that is looked for. SQLite would take `true` for 1.
 *
 * @throws as {@link columnValue}
 */
export function keyValue(column: string, value: unknown): ColumnValue {
  if (typeof value !== "boolean") return columnValue(column, value);
  throw new ColumnValueError(column, `The key "${column}" cannot be a boolean.`);
}

/** Whether every database keeps a text as it is: without NUL, which PostgreSQL refuses, and well-formed. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Whether a request can hold a value of this kind, or code make one of what it holds. */
export function mayBeInput(value: unknown): boolean {
  return value !== undefined && typeof value !== "function" && typeof value !== "symbol";
}

/** What kind of value it is, for messages that must not hold the value itself. */
export function kindOf(value: unknown): string {
  if (value instanceof Date) return "an invalid date";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return "text with a NUL or half a surrogate pair";
  return typeof value === "object" ? "an object" : typeof value;
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
