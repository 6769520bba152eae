import { AshlarError, type Dictionary, dictionary, isPrototypeName } from "../../support/index.ts";
import { decodeBodyText } from "../headers/media-types.ts";
import { message } from "../messages.ts";
import "../errors.ts";

/** Text that doesn't match contains no member name that could reach a prototype, not even in escaped form. */
const SUSPECT = /__proto__|constructor|prototype|\\u/;

/**
 * Parses a JSON body (RFC 8259): an object or a list.
 *
 * Every object in it is a dictionary, without a prototype. Members named `__proto__`, `constructor` and `prototype` are
 * omitted. Numbers are parsed as by `JSON.parse`. An empty body is an empty object.
 *
 * @param maxDepth how deeply objects and lists may be nested, including the outermost
 * @param maxValues how many members and elements it may have, in all objects and lists together
 * @throws `E_INVALID_BODY` for bad UTF-8, bad syntax, deep nesting, too many values, and a top level that is neither an
 * object nor a list
 */
export function parseJson(bytes: Uint8Array, maxDepth: number, maxValues: number): Dictionary | unknown[] {
  if (bytes.length === 0) return dictionary();
  const text = decodeBodyText(bytes);
  if (hasMoreValues(text, maxValues)) {
    throw new AshlarError("E_INVALID_BODY", message("body.json.values", { max: maxValues }));
  }
  const parsed = parse(text);
  if (typeof parsed !== "object" || parsed === null) {
    throw new AshlarError("E_INVALID_BODY", message("body.json.top"));
  }
  return detach(parsed, maxDepth, SUSPECT.test(text));
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Reports whether a text has too many values, before it is parsed. A megabyte can contain some 90,000 members or
 * 500,000 elements, and creating and copying those costs a hundred times as much as counting them.
 */
function hasMoreValues(text: string, most: number): boolean {
  // Each value takes at least two characters: itself and the separator before it.
  if (text.length <= 2 * most) return false;
  let values = 0;
  let isFirst = false;
  for (let index = 0; index < text.length && values <= most; index++) {
    const code = text.charCodeAt(index);
    if (code <= 0x20) continue;
    const isClose = code === CLOSE_LIST || code === CLOSE_OBJECT;
    if (code === COMMA || (isFirst && !isClose)) values++;
    isFirst = code === OPEN_LIST || code === OPEN_OBJECT;
    if (code === QUOTE) index = endOfString(text, index);
  }
  return values > most;
}

function endOfString(text: string, start: number): number {
  let index = start + 1;
  for (; index < text.length && text.charCodeAt(index) !== QUOTE; index++) {
    if (text.charCodeAt(index) === BACKSLASH) index++;
  }
  return index;
}

// V8 parses without recursion, so nesting only costs memory in proportion to the bytes, and the depth can be checked
// afterwards.
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The engine's message quotes the text, which may contain a password.
    throw new AshlarError("E_INVALID_BODY", message("body.json.syntax"));
  }
}

/** Removes the prototypes. Copying into new objects is faster than changing the parser's objects. */
function detach(value: object, depth: number, suspect: boolean): Dictionary | unknown[] {
  if (depth < 1) throw new AshlarError("E_INVALID_BODY", message("body.json.depth"));
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index];
      if (typeof item === "object" && item !== null) value[index] = detach(item, depth - 1, suspect);
    }
    return value;
  }
  const result = dictionary();
  for (const name of Object.keys(value)) {
    if (suspect && isPrototypeName(name)) continue;
    const member = (value as Dictionary)[name];
    result[name] = typeof member === "object" && member !== null ? detach(member, depth - 1, suspect) : member;
  }
  return result;
}
