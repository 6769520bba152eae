import { isConvertible } from "./mariadb-values.ts";

/** A change that the server makes although it had to convert a value for it: a deletion on MariaDB, or one that says `ignore`. */
const UNREFUSED = /^\s*(?:delete|(?:insert|replace|update)\s+(?:\w+\s+)?ignore)\b/i;

const NAME = `(?:"[^"]*"|\\w+)`;
const COLUMN = `${NAME}(?:\\.${NAME})?`;
const CONDITION = `${COLUMN} (?:= \\?|in \\(\\?(?:, \\?)*\\)|is (?:not )?null)`;
const RETURNED = `(?:\\*|${COLUMN}(?:, ${COLUMN})*)`;

/** A deletion whose conditions compare columns with bound values, and nothing else. */
const BY_VALUES = new RegExp(
  `^delete from ${COLUMN}(?: where ${CONDITION}(?: and ${CONDITION})*)?(?: limit \\d+)?(?: returning ${RETURNED})?$`,
  "i",
);

/**
 * Whether the server would only warn if it compared text with a number in a change, or a text with a time. A deletion
 * by whole numbers, which are sent as text, doesn't convert anything: a text equals them or it doesn't.
 *
 * @param values as they are sent
 */
export function onlyWarns(text: string, values: readonly unknown[]): boolean {
  return UNREFUSED.test(text) && !(BY_VALUES.test(text) && values.every(isWhole));
}

function isWhole(value: unknown): boolean {
  return value === null || (typeof value === "string" && !isConvertible(value));
}
