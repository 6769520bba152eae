import { ColumnValueError } from "./column-value-error.ts";
import type { Row } from "./dialect.ts";
import { NotNullViolationError, UnknownColumnError } from "./errors.ts";
import { isFillable, type ModelPlan } from "./model-plan.ts";

/**
 * The error of a statement that stored these values, as it is to be thrown: `E_INVALID_INPUT` (422) where a request can be
 * to blame, because it sent `null` for a column that must have a value, or a name that is not a column's to a model that
 * takes every name. What only code can have set keeps its error.
 */
export function asInputError(plan: ModelPlan, values: Row, error: unknown): unknown {
  if (error instanceof NotNullViolationError) {
    const { column } = error;
    if (column === null || values[column] !== null || !isFillable(plan, column)) return error;
    return new ColumnValueError(column, `The column "${column}" must have a value.`);
  }
  // A name in `fillable` that is not a column's is the application's mistake, or its migration has not run.
  if (!(error instanceof UnknownColumnError) || plan.fillable !== null) return error;
  const name = error.names.find((one) => one !== plan.table && Object.hasOwn(values, one));
  if (name === undefined || !isFillable(plan, name)) return error;
  return new ColumnValueError(name, `"${name}" is not a column of the table "${plan.table}".`);
}
