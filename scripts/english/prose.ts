import { type Node, parseSync, Visitor } from "oxc-parser";

/** Replaces anything that isn't prose, so that a phrase never matches across it. */
const CODE = "\0";
/** A string is a sentence if it has at least this many words. */
const WORDS_OF_A_SENTENCE = 3;

const blank = (text: string): string => text.replaceAll(/\S/g, CODE);
const spaces = (text: string): string => text.replaceAll(/\S/g, " ");

/** Code, addresses and quotations in a sentence. */
function withoutCode(text: string): string {
  return text
    .replaceAll(/(`+)(?:(?!\1)[\s\S])+?\1/g, blank)
    .replaceAll(/\{@link [^}]*\}/g, blank)
    .replaceAll(/https?:\/\/[^\s)>]+/g, blank);
}

function isSentence(text: string): boolean {
  return (text.match(/[A-Za-z][a-z']+(?=[\s.,:;?!]|$)/g) ?? []).length >= WORDS_OF_A_SENTENCE;
}

function proseOfTypeScript(path: string, source: string): string {
  const { program, comments, errors } = parseSync(path, source);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  const passages: { start: number; text: string }[] = comments.map(({ start, end }) => {
    const text = source.slice(start, end).replaceAll(/^\s*(?:\/\*+|\*\/|\*|\/\/+)|\*\/$/gm, spaces);
    return { start, text: withoutCode(text.replaceAll(/^\s*@example[\s\S]*?(?=^\s*@|(?![\s\S]))/gm, blank)) };
  });
  const addString = ({ start, end }: Pick<Node, "start" | "end">): void => {
    const text = source.slice(start, end);
    if (isSentence(text)) passages.push({ start, text: withoutCode(text.replaceAll(/^["'`]|["'`]$/g, " ")) });
  };
  new Visitor({
    Literal: (node) => {
      if (typeof node.value === "string") addString(node);
    },
    TemplateElement: addString,
  }).visit(program);
  let prose = "";
  for (const { start, text } of passages.sort((a, b) => a.start - b.start)) {
    prose += blank(source.slice(prose.length, start)) + text;
  }
  return prose + blank(source.slice(prose.length));
}

function proseOfMarkdown(source: string): string {
  const text = source
    .replace(/^---\n[\s\S]*?\n---\n/, (front) => front.replaceAll(/^(?!description:).*$/gm, blank))
    .replaceAll(/^( *)(`{3,}|~{3,})[\s\S]*?^\1\2/gm, blank)
    .replaceAll(/^(?: {4}|\t)\S.*$/gm, (line) => (/^ *(?:[-*]|\d+\.) /.test(line) ? line : blank(line)))
    .replaceAll(/\]\([^)]*\)/g, blank)
    .replaceAll(/^[ >]*>/gm, spaces);
  return withoutCode(text);
}

/**
 * The source with everything except its prose blanked out. Prose is TypeScript's comments and strings, Markdown's text, and
 * all of a stub. Positions and line breaks stay.
 */
export function proseOf(path: string, source: string): string {
  if (path.endsWith(".ts")) return proseOfTypeScript(path, source);
  if (path.endsWith(".md")) return proseOfMarkdown(source);
  return withoutCode(source.replaceAll(/^\s*(?:\*|\/\/|#)/gm, spaces));
}
