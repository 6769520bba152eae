import { ColumnValueError } from "../dialect/column-names.ts";
import type { Row } from "../dialect/executor.ts";
import { NotNullViolationError, UnknownColumnError } from "../errors.ts";
import { isFillable } from "./model-attributes.ts";
import type { ModelMetadata } from "./model-metadata.ts";

/**
 * The error to throw for a statement that tried to store these values: `E_INVALID_INPUT` (422) if a request may have
 * caused it, by sending `null` for a required column, or a name that is not a column's to a model that accepts every
 * name. Errors that only code can have caused stay unchanged.
 */
export function asInputError(metadata: ModelMetadata, values: Row, error: unknown): unknown {
  if (error instanceof NotNullViolationError) {
    const { column } = error;
    if (column === null || values[column] !== null || !isFillable(metadata, column)) return error;
    return new ColumnValueError(column, `The column "${column}" must have a value.`);
  }
  // A name in `fillable` that is not a column is the application's mistake, or its migration has not run.
  if (!(error instanceof UnknownColumnError) || metadata.fillable !== null) return error;
  const name = error.names.find((one) => one !== metadata.table && Object.hasOwn(values, one));
  if (name === undefined || !isFillable(metadata, name)) return error;
  return new ColumnValueError(name, `"${name}" is not a column of the table "${metadata.table}".`);
}

/**
 * The error to throw for a query that names these columns: `E_INVALID_INPUT` (422) if the table lacks one of them, and nothing
 * in the model's class names it, because such a name comes from a request. If the class names it, its migration has not run.
 */
export function asQueryError(metadata: ModelMetadata, columns: readonly string[], error: unknown): unknown {
  if (!(error instanceof UnknownColumnError)) return error;
  const unknown = columns.find((column) => error.names.includes(column));
  if (unknown === undefined) return error;
  // The memory must not grow with the contents of requests.
  metadata.lookups.delete(unknown);
  if (isNamed(metadata, unknown)) return error;
  return new ColumnValueError(unknown, `"${unknown}" is not a column of the table "${metadata.table}".`);
}

function isNamed({ primaryKey, casts, hidden, guarded, fillable }: ModelMetadata, column: string): boolean {
  if (column === primaryKey || casts.has(column) || hidden.has(column) || guarded.has(column)) return true;
  return fillable?.has(column) ?? false;
}
