import { AshlarError, isPrototypeName, ValidationError } from "../../support/index.ts";
import { message } from "../messages.ts";
import type { ColumnValue } from "./executor.ts";
import "../errors.ts";

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;

/** Reports whether a name can be used as a column's, wherever it comes from. */
export function isColumnName(name: unknown): name is string {
  return typeof name === "string" && IDENTIFIER.test(name) && !isPrototypeName(name);
}

/**
 * Checks a name before it is used as a column's.
 *
 * @throws `E_INVALID_QUERY` if it is not an identifier
 */
export function columnName(name: unknown): string {
  if (isColumnName(name)) return name;
  throw new AshlarError("E_INVALID_QUERY", `${JSON.stringify(name)} cannot be the name of a column.`);
}

/**
 * Checks a name before a query filters or orders by it: it may come from a request, whatever its static type says.
 *
 * @throws `E_INVALID_INPUT` (422) if it is not an identifier, or `E_INVALID_QUERY` for a value that no request can
 * contain
 */
export function queriedColumn(name: unknown): string {
  if (isColumnName(name)) return name;
  if (!mayBeInput(name)) return columnName(name);
  const shown = typeof name === "string" ? JSON.stringify(name.slice(0, 80)) : kindOf(name);
  throw new ColumnValueError(null, `A column cannot be named ${shown}.`);
}

/**
 * Checks a value before a column is compared with it or set to it, whatever its static type: drivers interpret a list
 * or an object from a request differently.
 *
 * @throws `E_INVALID_INPUT` (422), or `E_INVALID_QUERY` for a value that no request can contain; the message does not
 * include the value
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
  const remedy = typeof value === "object" ? ' To store objects and lists, use the cast "json".' : "";
  throw new ColumnValueError(column, problem + remedy);
}

/**
 * Checks the value of a primary key that is looked up. SQLite would treat `true` as 1.
 *
 * @throws as {@link columnValue}
 */
export function keyValue(column: string, value: unknown): ColumnValue {
  if (typeof value !== "boolean") return columnValue(column, value);
  throw new ColumnValueError(column, `The key "${column}" cannot be a boolean.`);
}

/** Whether every database stores a text unchanged: it must be well-formed, without NUL, which PostgreSQL refuses. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Whether a request can contain a value of this kind, or code can derive one from its content. */
export function mayBeInput(value: unknown): boolean {
  return value !== undefined && typeof value !== "function" && typeof value !== "symbol";
}

/** The kind of a value, for messages that must not include the value itself. */
export function kindOf(value: unknown): string {
  if (value instanceof Date) return "an invalid date";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return "text with a NUL or half a surrogate pair";
  return typeof value === "object" ? "an object" : typeof value;
}

/** The default table of a model: `OrderLine` → `order_lines`. */
export function tableName(className: string): string {
  const noun = className
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .toLowerCase();
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /(?:s|x|z|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
}

/**
 * A value cannot be stored in its column, or compared with it (`E_INVALID_INPUT`, 422): a list or an object instead of
 * a single value, a number that is too large, text that no database accepts. Such values come from requests, so the
 * error is shown to the client; the message never includes the value.
 */
export class ColumnValueError extends ValidationError {
  /** @param column the column's name; `null` if the database does not report it */
  constructor(column: string | null, detail: string) {
    super({ [column ?? ""]: [message("database.value")] }, detail);
  }
}
