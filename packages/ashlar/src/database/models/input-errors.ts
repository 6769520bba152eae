import { ColumnValueError } from "../dialect/column-names.ts";
import type { Row } from "../dialect/executor.ts";
import { NotNullViolationError, UnknownColumnError } from "../errors.ts";
import { isFillable } from "./model-attributes.ts";
import type { ModelMetadata } from "./model-metadata.ts";

/**
 * The error to throw for a statement that tried to store these values. It is `E_INVALID_INPUT` (422) if a request may
 * have caused it: with `null` for a required column, or, if the model accepts any name, with a name that isn't a
 * column. Errors that only code can cause are returned unchanged.
 */
export function asInputError(metadata: ModelMetadata, values: Row, error: unknown): unknown {
  if (error instanceof NotNullViolationError) {
    const { column } = error;
    if (column === null || values[column] !== null || !isFillable(metadata, column)) return error;
    return new ColumnValueError(column, `The column "${column}" must have a value.`);
  }
  // If a name in `fillable` isn't a column, that is the application's mistake, or the migration hasn't been run.
  if (!(error instanceof UnknownColumnError) || metadata.fillable !== null) return error;
  const name = error.names.find((one) => one !== metadata.table && Object.hasOwn(values, one));
  if (name === undefined || !isFillable(metadata, name)) return error;
  return new ColumnValueError(name, `"${name}" is not a column of the table "${metadata.table}".`);
}

/**
 * The error to throw for a query that names these columns. It is `E_INVALID_INPUT` (422) if the table lacks a column
 * that the model's class doesn't name, because such a name comes from a request. If the class names the column, its
 * migration hasn't been run.
 */
export function asQueryError(metadata: ModelMetadata, columns: readonly string[], error: unknown): unknown {
  if (!(error instanceof UnknownColumnError)) return error;
  const unknown = columns.find((column) => error.names.includes(column));
  if (unknown === undefined) return error;
  // Names from requests must not fill up memory.
  metadata.lookups.delete(unknown);
  if (isNamed(metadata, unknown)) return error;
  return new ColumnValueError(unknown, `"${unknown}" is not a column of the table "${metadata.table}".`);
}

function isNamed({ primaryKey, casts, hidden, guarded, fillable }: ModelMetadata, column: string): boolean {
  if (column === primaryKey || casts.has(column) || hidden.has(column) || guarded.has(column)) return true;
  return fillable?.has(column) ?? false;
}
