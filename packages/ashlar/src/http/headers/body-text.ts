import { AshlarError } from "../../support/index.ts";
import { message } from "../messages.ts";
import "../errors.ts";

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Returns the text of a body, or of a part of one, without a leading byte order mark (allowed by RFC 8259 §8.1).
 *
 * @throws `E_INVALID_BODY` if the bytes are not UTF-8
 */
export function decodeBodyText(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new AshlarError("E_INVALID_BODY", message("body.utf8"));
  }
}

const PARAMETER = /;[ \t]*(?:([^\s=;"]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"[ \t]*|([^;"]*)))?/y;

/**
 * Parses the parameters of a header's value, such as `charset` of a `Content-Type` (RFC 9110 §5.6.6), by lower-case name.
 *
 * @returns `null` if the value breaks the grammar or repeats a parameter
 */
export function headerParameters(value: string): ReadonlyMap<string, string> | null {
  const parameters = new Map<string, string>();
  let position = value.indexOf(";");
  if (position === -1) return parameters;
  while (position < value.length) {
    PARAMETER.lastIndex = position;
    const match = PARAMETER.exec(value);
    if (match === null) return null;
    const [whole, name, quoted, token] = match;
    position += whole.length;
    if (name === undefined) continue;
    const key = name.toLowerCase();
    if (parameters.has(key)) return null;
    // A backslash that escapes neither itself nor a quote is kept: some clients send whole Windows paths unescaped.
    parameters.set(key, quoted === undefined ? token!.trimEnd() : quoted.replace(/\\(["\\])/g, "$1"));
  }
  return parameters;
}

/** The media type of a header's value, lower-case and without its parameters. */
export function mediaType(value: string): string {
  const end = value.indexOf(";");
  return (end === -1 ? value : value.slice(0, end)).trim().toLowerCase();
}
