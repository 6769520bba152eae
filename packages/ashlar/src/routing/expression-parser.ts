/** A regular expression as a tree. A repetition without an end has the maximum `Infinity`. */
export type Expression =
  | { readonly kind: "character"; readonly characters: ReadonlySet<string> }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Expression[] }
  | { readonly kind: "repeat"; readonly body: Expression; readonly min: number; readonly max: number };

/** Every ASCII character, and some that stand for the letters, digits, signs and surrogates beyond. */
const ALPHABET: readonly string[] = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ..."\u00a0ßéÉµ×ſK中あж٣\u2028\ufeff😀",
  "\ud83d",
  "\ude00",
];

const QUANTIFIER = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/;
const ESCAPE = /^\\(?:u\{[0-9A-Fa-f]+\}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|c[A-Za-z]|[pP]\{[^}]*\}|.)/su;

/**
 * Parses a regular expression, as far as it is made of characters, classes, groups, choices and repetitions.
 *
 * @returns the tree, or a sentence that says what in it cannot be used
 */
export function parseExpression(expression: RegExp): Expression | string {
  try {
    return new Parser(expression.source, expression.flags).parse();
  } catch (error) {
    if (error instanceof Unsupported) return error.message;
    throw error;
  }
}

class Unsupported extends Error {}

class Parser {
  readonly #source: string;
  readonly #flags: string;
  #at = 0;

  constructor(source: string, flags: string) {
    this.#source = source;
    this.#flags = flags;
  }

  parse(): Expression {
    const choice = this.#choice();
    // The platform has compiled the expression, so nothing but a stray bracket of the lenient syntax can be left.
    if (this.#at < this.#source.length) throw new Unsupported("its brackets are not closed as they should be");
    return choice;
  }

  get #rest(): string {
    return this.#source.slice(this.#at);
  }

  #choice(): Expression {
    const parts = [this.#sequence()];
    while (this.#skip("|")) parts.push(this.#sequence());
    return parts.length === 1 ? parts[0]! : { kind: "choice", parts };
  }

  #sequence(): Expression {
    const parts: Expression[] = [];
    while (this.#at < this.#source.length && !/^[|)]/.test(this.#rest)) {
      // A value is always tried as a whole, so the ends are where they are without saying.
      if (this.#skip("^") || this.#skip("$")) continue;
      parts.push(this.#repeated(this.#atom()));
    }
    return { kind: "sequence", parts };
  }

  #repeated(body: Expression): Expression {
    const quantifier = QUANTIFIER.exec(this.#rest);
    if (quantifier === null) return body;
    this.#at += quantifier[0].length;
    const sign = quantifier[0][0];
    if (sign === "*") return { kind: "repeat", body, min: 0, max: Number.POSITIVE_INFINITY };
    if (sign === "+") return { kind: "repeat", body, min: 1, max: Number.POSITIVE_INFINITY };
    if (sign === "?") return { kind: "repeat", body, min: 0, max: 1 };
    const [, from, comma, to] = quantifier;
    const min = Number(from);
    const max = to !== "" ? Number(to) : comma === "," ? Number.POSITIVE_INFINITY : min;
    return { kind: "repeat", body, min, max };
  }

  #atom(): Expression {
    if (this.#source[this.#at] === "(") return this.#group();
    if (this.#source[this.#at] === "[") return this.#characters(this.#classText());
    if (this.#source[this.#at] !== "\\")
      return this.#characters(String.fromCodePoint(this.#source.codePointAt(this.#at)!));
    const escaped = ESCAPE.exec(this.#rest)![0];
    if (/^\\(?:[1-9]|k)/.test(escaped))
      throw new Unsupported("it refers back to a group (\\1), which can take forever");
    if (/^\\[bB]/.test(escaped))
      throw new Unsupported("it asserts the edge of a word (\\b); say which characters there may be");
    return this.#characters(escaped);
  }

  #group(): Expression {
    const opening = /^\((?:\?(?:[imsx-]*:|<[^=!>][^>]*>|[=!]|<[=!]))?/.exec(this.#rest)![0];
    if (/^\(\?<?[=!]/.test(opening))
      throw new Unsupported("it looks ahead or behind ((?=…), (?!…)), which is not supported");
    if (/^\(\?[imsx-]+:/.test(opening))
      throw new Unsupported("it changes flags inside ((?i:…)), which is not supported");
    this.#at += opening.length;
    const body = this.#choice();
    if (!this.#skip(")")) throw new Unsupported("its brackets are not closed as they should be");
    return body;
  }

  #classText(): string {
    return /^\[(?:\\.|[^\]\\])*\]/su.exec(this.#rest)![0];
  }

  #characters(text: string): Expression {
    this.#at += text.length;
    const one = new RegExp(`^(?:${text})$`, this.#flags);
    return { kind: "character", characters: new Set(ALPHABET.filter((character) => one.test(character))) };
  }

  #skip(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }
}
