/** A part of a table's name: in quotes as it is, without them anything that doesn't look like several parts. */
const PART = '(?:"(?:[^"\\p{Cc}]|"")+"|`(?:[^`\\p{Cc}]|``)+`|[^\\s."`\\p{Cc}](?:[^."`\\p{Cc}]*[^\\s."`\\p{Cc}])?)';

/** What can be a table's name: the schema or database before it, and quotes, are optional. */
export const TABLE_NAME: RegExp = new RegExp(`^(?:${PART}\\.)*${PART}$`, "u");

const LAST_PART = new RegExp(`(?:^|\\.)(${PART})$`, "u");

/** A name as a whole, since `\b` knows only ASCII. */
const BEFORE = "(?<![\\p{L}\\p{N}_$])";
const AFTER = "(?![\\p{L}\\p{N}_$])";

const SYNTAX = /[\^$\\.*+?()[\]{}|/]/g;

/** The table's own name, without its schema and quotes, in lower case: what statements mention, however they write it. */
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
