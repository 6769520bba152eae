import { ValidationError } from "../support/index.ts";
import { message } from "./messages.ts";

/**
 * A value cannot be stored in its column, or compared with it (`E_INVALID_INPUT`, 422): a list or an object where one
 * value belongs, a number that is too large, text that no database takes. Such values come from requests, so their
 * sender is told; the message never holds the value.
 */
export class ColumnValueError extends ValidationError {
  /** @param column the column's name; `null` where the database does not tell */
  constructor(column: string | null, detail: string) {
    super({ [column ?? ""]: [message("database.value")] }, detail);
  }
}
