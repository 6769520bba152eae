import { isConvertible } from "./mariadb-values.ts";

/**
 * Changes that the server makes even if it has to convert a value for them: deletions on MariaDB, and statements with
 * `ignore`.
 */
const UNREFUSED = /^\s*(?:delete|(?:insert|replace|update)\s+(?:\w+\s+)?ignore)\b/i;

const NAME = `(?:"[^"]*"|\\w+)`;
const COLUMN = `${NAME}(?:\\.${NAME})?`;
const CONDITION = `${COLUMN} (?:= \\?|in \\(\\?(?:, \\?)*\\)|is (?:not )?null)`;
const RETURNED = `(?:\\*|${COLUMN}(?:, ${COLUMN})*)`;

/** Deletions whose conditions only compare columns with bound values. */
const BY_VALUES = new RegExp(
  `^delete from ${COLUMN}(?: where ${CONDITION}(?: and ${CONDITION})*)?(?: limit \\d+)?(?: returning ${RETURNED})?$`,
  "i",
);

/**
 * Whether a statement is a change in which the server would only warn about comparing text with a number or a time.
 * Deleting by whole numbers, which are sent as text, converts nothing: text is compared with text.
 *
 * @param values as they are sent to the server
 */
export function onlyWarns(text: string, values: readonly unknown[]): boolean {
  return UNREFUSED.test(text) && !(BY_VALUES.test(text) && values.every(isWhole));
}

function isWhole(value: unknown): boolean {
  return value === null || (typeof value === "string" && !isConvertible(value));
}
