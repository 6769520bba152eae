/** A word, a name, a text or a sign of a statement. */
export interface SqlWord {
  /** In lower case, unless it was quoted; empty for text. */
  readonly text: string;
  /** Whether it was between the quotes of a name or of a text. */
  readonly quotes: "name" | "text" | null;
  /** Where it begins in the source, and where the next one does. */
  readonly from: number;
  readonly to: number;
}

const COMMENT = /--[^\n]*|\/\*[\s\S]*?\*\//;
const TEXT = /'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$/;
const NAME = /"((?:[^"]|"")*)"|`((?:[^`]|``)*)`/;
const WORDS = new RegExp([COMMENT, TEXT, NAME, /[\p{L}\w$]+|\S/u].map(({ source }) => source).join("|"), "gu");

/** The words of the statements in a text, without comments. Each statement is a list; none is empty. */
export function sqlWords(sql: string): SqlWord[][] {
  const statements: SqlWord[][] = [[]];
  for (const match of sql.matchAll(WORDS)) {
    const [text, , name = match[3]] = match;
    const place = { from: match.index, to: match.index + text.length };
    if (text.startsWith("--") || text.startsWith("/*")) continue;
    if (text === ";") statements.push([]);
    else if (name !== undefined)
      statements.at(-1)!.push({ text: name.replaceAll(/""|``/g, '"'), quotes: "name", ...place });
    else if (/^['$]./.test(text) && TEXT.test(text)) statements.at(-1)!.push({ text: "", quotes: "text", ...place });
    else statements.at(-1)!.push({ text: text.toLowerCase(), quotes: null, ...place });
  }
  return statements.filter((words) => words.length > 0);
}

/** Joins words into one text, in which nothing that was quoted can be mistaken for a word of SQL. */
export function definitionOf(words: readonly SqlWord[]): string {
  return words.map(({ text, quotes }) => (quotes === null ? text : quotes === "name" ? '""' : "''")).join(" ");
}

/** Returns words as they are in the source. */
export function sqlOf(source: string, words: readonly SqlWord[]): string {
  return source.slice(words[0]?.from ?? 0, words.at(-1)?.to ?? 0);
}

/** Quotes a name for SQL. */
export function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** The names in the first list between parentheses; empty if it contains anything but names. */
export function listedNames(words: readonly SqlWord[]): string[] {
  const from = words.findIndex(({ text, quotes }) => quotes === null && text === "(");
  const to = words.findIndex(({ text, quotes }) => quotes === null && text === ")");
  const parts = from === -1 || to < from ? [] : splitByCommas(words.slice(from + 1, to));
  const names = parts.map((part) => (part.length === 1 ? new WordReader(part).name() : null));
  return names.every((name) => name !== null) ? names : [];
}

/** Splits a list at its commas, except those between parentheses. */
export function splitByCommas(words: readonly SqlWord[]): SqlWord[][] {
  const parts: SqlWord[][] = [[]];
  let depth = 0;
  for (const word of words) {
    const sign = word.quotes === null ? word.text : "";
    if (sign === "(") depth++;
    if (sign === ")") depth--;
    if (sign === "," && depth === 0) parts.push([]);
    else parts.at(-1)!.push(word);
  }
  return parts;
}

/** Reads words from the first to the last. */
export class WordReader {
  readonly #words: readonly SqlWord[];
  #at = 0;

  constructor(words: readonly SqlWord[]) {
    this.#words = words;
  }

  /** Skips words of SQL if they come next, all of them. */
  skip(...texts: readonly string[]): boolean {
    const isNext = texts.every((text, n) => {
      const word = this.#words[this.#at + n];
      return word?.quotes === null && word.text === text;
    });
    if (isNext) this.#at += texts.length;
    return isNext;
  }

  /** Skips the first of these words that comes next. */
  skipOne(...texts: readonly string[]): string | null {
    return texts.find((text) => this.skip(text)) ?? null;
  }

  /** Reads a name, and returns only the part after the last dot; `null` if there isn't one. */
  name(): string | null {
    const isName = /^[\p{L}_]/u;
    let word = this.#words[this.#at];
    if (word === undefined || (word.quotes !== "name" && !isName.test(word.text))) return null;
    this.#at++;
    while (this.skip(".")) {
      word = this.#words[this.#at];
      this.#at++;
    }
    return word?.text ?? null;
  }

  /** The words that haven't been read. */
  rest(): readonly SqlWord[] {
    return this.#words.slice(this.#at);
  }
}
