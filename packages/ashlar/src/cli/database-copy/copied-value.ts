import type { DescribedColumn } from "./described-database.ts";

/** Thrown if the target's column can't contain a value. The message doesn't include the value. */
export class UnfitValueError extends Error {}

const WHOLE = /^-?\d+$/;
const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
/** A time in UTC without a time zone, as in SQLite's CURRENT_TIMESTAMP. */
const WITHOUT_ZONE = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)$/;

/**
 * Converts a value for the target's column.
 *
 * @param value the value returned by the source; parsed, if its driver parses JSON
 * @param isParsed whether the value is parsed JSON
 * @throws {@link UnfitValueError}
 */
export function copiedValue(value: unknown, isParsed: boolean, { type, length }: DescribedColumn): unknown {
  if (value === null) return null;
  const given = isParsed ? JSON.stringify(value) : value;
  switch (type) {
    case "boolean":
      return booleanOf(given);
    case "integer":
      return integerOf(given);
    case "real":
    case "decimal":
      return numberOf(given);
    case "time":
      return timeOf(given);
    case "binary":
      if (typeof given === "string") return Buffer.from(given);
      return must(given instanceof Uint8Array, given, "bytes");
    case "json":
      return jsonOf(textOf(given));
    case "text": {
      const text = textOf(given);
      // Characters are code points in databases. Spaces at the end would be cut off without an error.
      if (length === null || text.length <= length || [...text].length <= length) return text;
      throw new UnfitValueError(`has text of ${[...text].length} characters, and the column takes ${length}`);
    }
    default:
      return given;
  }
}

function must(isFit: boolean, value: unknown, what: string): unknown {
  if (isFit) return value;
  throw new UnfitValueError(`has a value that is not ${what}`);
}

function booleanOf(value: unknown): unknown {
  if (value === 0 || value === 1) return value === 1;
  return must(typeof value === "boolean", value, "true or false: neither 0 nor 1");
}

function integerOf(value: unknown): unknown {
  if (typeof value === "boolean") return value ? 1 : 0;
  const isWhole = typeof value === "bigint" || Number.isSafeInteger(value) || WHOLE.test(String(value));
  return must(isWhole && !(value instanceof Uint8Array), value, "a whole number");
}

function numberOf(value: unknown): unknown {
  const isNumber = typeof value === "bigint" || Number.isFinite(value);
  return must(isNumber || (typeof value === "string" && NUMBER.test(value)), value, "a number");
}

function timeOf(value: unknown): unknown {
  const date = value instanceof Date ? value : typeof value === "string" ? new Date(withZone(value)) : null;
  return must(date !== null && !Number.isNaN(date.getTime()), date, "a time");
}

function withZone(text: string): string {
  return text.replace(WITHOUT_ZONE, "$1T$2Z");
}

/** The server would refuse it too, but without the column's name. */
function jsonOf(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new UnfitValueError("has text that is not JSON");
  }
}

function textOf(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  must(["string", "number", "bigint"].includes(typeof value), value, "text");
  return String(value);
}
