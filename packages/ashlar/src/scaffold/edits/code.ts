import type { parse } from "@babel/parser";
import type { Node, Program, Statement } from "@babel/types";

/** A range in a text, in UTF-16 units. The end is exclusive. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Text to insert at a place. Its line endings are changed to the file's. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
  /** The end of the text to replace; default: nothing is replaced. */
  readonly until?: number;
}

type Parse = typeof parse;

/** Parsed files, by their language and text: commands that install or upgrade parse most files several times. */
const PARSED = new Map<string, Code>();

/** The number of parsed files that are kept. */
const MOST_PARSED = 200;

/**
 * An application's file, with its syntax tree. Changes are only insertions and replacements in the text, so everything
 * else stays exactly as its author wrote it.
 */
export class Code {
  readonly text: string;
  readonly program: Program;
  readonly #parse: Parse;
  readonly #path: string;
  readonly #tokens: readonly Range[];

  private constructor(text: string, path: string, parse: Parse) {
    this.text = text;
    this.#path = path;
    this.#parse = parse;
    const { program, tokens } = parse(text, {
      sourceType: "module",
      plugins: [...(path.endsWith(".ts") ? (["typescript"] as const) : []), "decorators"],
      tokens: true,
    });
    this.program = program;
    this.#tokens = (tokens as (Range & { type: unknown })[]).filter(({ type }) => typeof type !== "string");
  }

  /**
   * Parses a file.
   *
   * @param path the file's path, whose extension distinguishes TypeScript from JavaScript
   * @throws `SyntaxError` with the line and column
   */
  static async of(text: string, path: string): Promise<Code> {
    // Imported lazily, because `ashlar serve` loads every command.
    const parser = await import("@babel/parser");
    return Code.#parsed(text, path, parser.parse);
  }

  static #parsed(text: string, path: string, parse: Parse): Code {
    const key = `${path.endsWith(".ts")}\n${text}`;
    const known = PARSED.get(key);
    if (known !== undefined) return known;
    const code = new Code(text, path, parse);
    if (PARSED.size >= MOST_PARSED) PARSED.clear();
    PARSED.set(key, code);
    return code;
  }

  /**
   * Returns the code with insertions, parsed again.
   *
   * @throws `SyntaxError` if the result isn't valid code
   */
  with(...insertions: readonly Insertion[]): Code {
    const end = this.text.includes("\r\n") ? "\r\n" : "\n";
    let text = this.text;
    // Starts from the end, so that earlier positions stay valid. Two insertions at the same position stay in order.
    const fromEnd = insertions.toReversed().toSorted((one, other) => other.at - one.at);
    for (const { at, text: added, until = at } of fromEnd) {
      text = text.slice(0, at) + added.replaceAll("\n", end) + text.slice(until);
    }
    return Code.#parsed(text, this.#path, this.#parse);
  }

  /** The end of a comma that follows a position, with only space and comments in between; `null` if there isn't one. */
  commaAfter(place: number): number | null {
    const next = this.#tokens.find(({ start }) => start >= place);
    return next !== undefined && this.text.slice(next.start, next.end) === "," ? next.end : null;
  }

  /** Reports whether there are only space and complete comments between two positions. */
  isBare({ start, end }: Range): boolean {
    return !this.#tokens.some((token) => token.start < end && token.end > start) && !this.#cutsComment(end);
  }

  #cutsComment(place: number): boolean {
    const before = this.text.lastIndexOf("/*", place);
    return before !== -1 && this.text.indexOf("*/", before) + 2 > place;
  }

  /** The end of the line that contains a position, before the line break. */
  lineEnd(place: number): number {
    const end = this.text.indexOf("\n", place);
    if (end === -1) return this.text.length;
    return this.text[end - 1] === "\r" && end > place ? end - 1 : end;
  }

  /** The indentation of the line that contains a position. */
  indentAt(place: number): string {
    return /^[ \t]*/.exec(this.text.slice(this.text.lastIndexOf("\n", place - 1) + 1))![0];
  }

  /** One level of indentation, as used in the file. */
  get indent(): string {
    return /^(?: {1,8}|\t)(?=[^\s*])/m.exec(this.text)?.[0] ?? "  ";
  }

  /** Whether a range contains a line break. */
  breaksIn({ start, end }: Range): boolean {
    return this.text.slice(start, end).includes("\n");
  }

  /** Whether the file may contain TypeScript syntax. */
  get isTypeScript(): boolean {
    return this.#path.endsWith(".ts");
  }

  /** A text as a string literal, with the file's kind of quotes. */
  quote(text: string): string {
    const [quote = '"'] = /["'](?=[^"'\n]*["'];?[ \t]*\r?$)/m.exec(this.text) ?? [];
    return `${quote}${text}${quote}`;
  }

  /** A semicolon, unless the file's statements end without one. */
  get semicolon(): string {
    const ends = this.program.body.filter(({ type }) => type === "ImportDeclaration" || type === "ExpressionStatement");
    return ends.length > 0 && ends.every(({ end }) => this.text[end! - 1] !== ";") ? "" : ";";
  }

  /** A node's text. */
  textOf(node: Node): string {
    return this.text.slice(node.start!, node.end!);
  }
}

/** A node's range. */
export function rangeOf(node: Node): Range {
  return { start: node.start!, end: node.end! };
}

/** The declaration exported by a statement, or the statement itself. */
export function declarationOf(statement: Statement): Node {
  const isExport = statement.type === "ExportNamedDeclaration" || statement.type === "ExportDefaultDeclaration";
  return (isExport ? statement.declaration : null) ?? statement;
}

/** An expression without `as`, `satisfies`, `!` and parentheses. */
export function bare(node: Node): Node {
  const wrappers = ["TSAsExpression", "TSSatisfiesExpression", "TSNonNullExpression", "ParenthesizedExpression"];
  return wrappers.includes(node.type) ? bare((node as unknown as { expression: Node }).expression) : node;
}

/** All nodes in a tree, parents before children. */
export function* nodesIn(node: Node): Generator<Node> {
  yield node;
  for (const [key, value] of Object.entries(node)) {
    if (key === "loc" || key.endsWith("Comments")) continue;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof (child as Node | null)?.type === "string") yield* nodesIn(child as Node);
    }
  }
}
