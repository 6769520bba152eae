import type { Code, Insertion, Range } from "./code.ts";

/** Items between brackets, separated by commas. */
export interface CommaList {
  /** The position after the opening bracket. */
  readonly open: number;
  /** The position of the closing bracket. */
  readonly close: number;
  readonly items: readonly Range[];
  /** Whether a list on a single line has spaces inside its brackets. */
  readonly isSpaced: boolean;
}

/** Adds an item at an index, or at the end, in the style of the other items. */
export function withItem(code: Code, list: CommaList, index: number, item: string): Code {
  return code.with(...insertionsOf(code, list, index, item));
}

function insertionsOf(code: Code, list: CommaList, index: number, item: string): Insertion[] {
  const { open, items } = list;
  const [first] = items;
  if (first === undefined) return [intoEmpty(code, list, item)];
  if (!code.breaksIn({ start: open, end: first.start })) return [besides(items, index, item)];
  const indent = code.indentAt(first.start);
  if (index === 0) {
    const end = code.lineEnd(open);
    return code.isBare({ start: open, end })
      ? [{ at: end, text: `\n${indent}${item},` }]
      : [{ at: first.start, text: `${item},\n${indent}` }];
  }
  const previous = items[index - 1]!;
  const comma = code.commaAfter(previous.end);
  const end = code.lineEnd(comma ?? previous.end);
  // Another item, or the closing bracket, is on the same line.
  if (!code.isBare({ start: comma ?? previous.end, end })) {
    return [comma === null ? { at: previous.end, text: `, ${item}` } : { at: comma, text: ` ${item},` }];
  }
  if (comma !== null) return [{ at: end, text: `\n${indent}${item},` }];
  return [
    { at: previous.end, text: "," },
    { at: end, text: `\n${indent}${item}` },
  ];
}

function intoEmpty(code: Code, { open, close, isSpaced }: CommaList, item: string): Insertion {
  const inside = code.text.slice(open, close);
  if (inside.includes("\n")) {
    const at = open + inside.trimEnd().length;
    return { at, text: `\n${code.indentAt(close)}${code.indent}${item},` };
  }
  if (!isSpaced) return { at: open, text: item };
  return { at: open, text: inside === "" ? ` ${item} ` : ` ${item}` };
}

function besides(items: readonly Range[], index: number, item: string): Insertion {
  const next = items[index];
  return next === undefined ? { at: items.at(-1)!.end, text: `, ${item}` } : { at: next.start, text: `${item}, ` };
}
