import { type Compilable, CompiledQuery, type Expression, sql } from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type { ColumnValue, Row } from "./executor.ts";

/** The values of a statement's parameters, by name. */
export type ParameterValues = Readonly<Record<string, ColumnValue>>;

/** A statement that was compiled once. It runs in the caller's transaction. */
export type PreparedStatement = (values: ParameterValues) => MaybePromise<Row[]>;

class Parameter {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A placeholder in a query for a value that is passed each time the query runs.
 *
 * @param name any text; placeholders with the same name have the same value
 */
export function parameter<T extends ColumnValue>(name: string): Expression<T> {
  return sql.val(new Parameter(name)) as unknown as Expression<T>;
}

/**
 * Compiles a query once, so that it can run many times with different values for its parameters.
 *
 * @returns a function that returns the compiled query with these values for its parameters
 */
export function queryTemplate(query: Compilable): (values: Readonly<Record<string, ColumnValue>>) => CompiledQuery {
  const { sql: text, parameters } = query.compile();
  return (values) =>
    CompiledQuery.raw(
      text,
      parameters.map((given) => (given instanceof Parameter ? values[given.name] : given)),
    );
}
