import { AshlarError, type Dictionary, dictionary, isPrototypeName } from "../support/index.ts";
import { decodeBodyText } from "./body-text.ts";

/** A text without a match names no member through which a prototype could be reached, not even by escapes. */
const SUSPECT = /__proto__|constructor|prototype|\\u/;

/**
 * Reads a JSON body (RFC 8259): an object or a list.
 *
 * Every object in it is a dictionary, without a prototype. Members named `__proto__`, `constructor` and `prototype`
 * are left out. Numbers are what `JSON.parse` makes of them. No bytes at all are an empty object.
 *
 * @param maxDepth how deep objects and lists may nest; the outermost counts
 * @throws `E_INVALID_BODY` for bad UTF-8, bad syntax, too deep a nesting, and a top level that is neither object nor list
 */
export function parseJson(bytes: Uint8Array, maxDepth: number): Dictionary | unknown[] {
  if (bytes.length === 0) return dictionary();
  const text = decodeBodyText(bytes);
  const parsed = parse(text);
  if (typeof parsed !== "object" || parsed === null) {
    throw new AshlarError("E_INVALID_BODY", "The top level of a JSON body must be an object or a list.");
  }
  return detach(parsed, maxDepth, SUSPECT.test(text));
}

// V8 parses without recursion, so that nesting costs memory in proportion to the bytes, and the depth is checked after.
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The engine's message quotes the text, which may hold a password.
    throw new AshlarError("E_INVALID_BODY", "The body is not valid JSON.");
  }
}

/** Takes the prototypes off; copying into new objects is quicker than changing those that the parser made. */
function detach(value: object, depth: number, suspect: boolean): Dictionary | unknown[] {
  if (depth < 1) throw new AshlarError("E_INVALID_BODY", "The JSON body nests too deep.");
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
