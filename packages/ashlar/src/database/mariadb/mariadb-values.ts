import type { FieldPacket } from "mysql2";
import { AshlarError } from "../../support/index.ts";
import { ColumnValueError, isStorableText, kindOf } from "../dialect/column-names.ts";
import type { Row } from "../dialect/executor.ts";
import "../errors.ts";

/** The type of 64-bit integers in the protocol. */
const LONGLONG = 8;
const DIGITS = /^-?\d+$/;

/**
 * Converts a value for the driver. Numbers are sent as text, because if a number is compared with a text column, the
 * server converts the column, and any word equals 0.
 *
 * @throws `E_INVALID_QUERY` for a type that can't be a value; `E_INVALID_INPUT` for text or a number that can't be
 * stored
 */
export function boundValue(value: unknown): unknown {
  switch (typeof value) {
    case "undefined":
      throw new AshlarError("E_INVALID_QUERY", "A value for the database is of type undefined.");
    case "boolean":
      return value ? "1" : "0";
    case "number":
      return String(value);
    case "bigint":
      if (BigInt.asIntN(64, value) === value) return String(value);
      throw new ColumnValueError(null, "A value for the database is an integer of more than 64 bits.");
    case "string":
      if (isStorableText(value)) return value;
      throw new ColumnValueError(null, `A value for the database is ${kindOf(value)}.`);
  }
  if (value instanceof Date && Number.isNaN(value.getTime())) {
    throw new AshlarError("E_INVALID_QUERY", "A value for the database is an invalid date.");
  }
  return value instanceof Uint8Array && !Buffer.isBuffer(value) ? Buffer.from(value) : value;
}

/**
 * Whether comparing the value with a number would make the server convert it to something else, such as `1abc` to 1.
 */
export function isConvertible(value: unknown): boolean {
  return typeof value === "string" ? !DIGITS.test(value) : Buffer.isBuffer(value);
}

/** Turns 64-bit integers that a number can't hold, which the driver returns as text, into bigints. */
export function exactRows(rows: readonly Row[], fields: readonly FieldPacket[]): Row[] {
  for (const { name, columnType } of fields) {
    if (columnType !== LONGLONG) continue;
    for (const row of rows) {
      const value = row[name];
      if (typeof value === "string") row[name] = BigInt(value);
    }
  }
  return rows as Row[];
}
