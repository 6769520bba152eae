import { ValidationError } from "../../support/index.ts";
import { message } from "../messages.ts";

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
