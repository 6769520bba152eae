/** A part of a table's name: any text in quotes, or without them anything that doesn't look like several parts. */
const PART = '(?:"(?:[^"\\p{Cc}]|"")+"|`(?:[^`\\p{Cc}]|``)+`|[^\\s."`\\p{Cc}](?:[^."`\\p{Cc}]*[^\\s."`\\p{Cc}])?)';

/** The form of a table's name: the schema or database before it, and quotes, are optional. */
export const TABLE_NAME: RegExp = new RegExp(`^(?:${PART}\\.)*${PART}$`, "u");

const LAST_PART = new RegExp(`(?:^|\\.)(${PART})$`, "u");

/** Matches a whole name, because `\b` supports only ASCII. */
const BEFORE = "(?<![\\p{L}\\p{N}_$])";
const AFTER = "(?![\\p{L}\\p{N}_$])";

const SYNTAX = /[\^$\\.*+?()[\]{}|/]/g;

/**
 * The table's own name, without its schema and quotes, in lower case, for finding it in statements however they write
 * it.
 */
export function ownName(table: string): string {
  const [, last = table] = LAST_PART.exec(table) ?? [];
  return last.replace(/^(["`])(.*)\1$/su, "$2").toLowerCase();
}

/** Finds any of the tables in a statement's text. Other uses of their names are found too. */
export function mentionOf(names: Iterable<string>): RegExp {
  return new RegExp(
    `${BEFORE}(?:${[...names].map((name) => name.replaceAll(SYNTAX, "\\$&")).join("|")})${AFTER}`,
    "iu",
  );
}
