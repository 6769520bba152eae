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
    // A backslash that escapes neither itself nor a quote is kept, because some clients send complete Windows paths
    // unescaped.
    parameters.set(key, quoted === undefined ? token!.trimEnd() : quoted.replace(/\\(["\\])/g, "$1"));
  }
  return parameters;
}

/** The media type of a header's value, lower-case and without its parameters. */
export function mediaType(value: string): string {
  const end = value.indexOf(";");
  return (end === -1 ? value : value.slice(0, end)).trim().toLowerCase();
}

/** One media range of an `Accept` header (RFC 9110 §12.5.1). */
interface MediaRange {
  readonly type: string;
  readonly subtype: string;
  /** Parameters other than `q`, as `name=value`, sorted. */
  readonly parameters: readonly string[];
  /** The weight, 0 to 1. */
  readonly quality: number;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const WEIGHT = /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/;
const JSON_TYPE = /^application\/(json|[!#$%&'*+\-.^_`|~0-9a-z]+\+json)$/;
const PAGE_TYPES: ReadonlySet<string> = new Set(["text/html", "application/xhtml+xml"]);

/** Splits at a separator, except inside a quoted string (RFC 9110 §5.6.4). */
function splitOutsideQuotes(text: string, separator: "," | ";"): string[] {
  if (!text.includes('"')) return text.split(separator);
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (quoted && character === "\\") index++;
    else if (character === '"') quoted = !quoted;
    else if (!quoted && character === separator) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

/** Parses a media range or media type with its parameters; `null` if it is neither. */
function parseRange(text: string): MediaRange | null {
  const [media = "", ...rest] = splitOutsideQuotes(text, ";").map((part) => part.trim());
  const [type = "", subtype = "", ...more] = media.toLowerCase().split("/");
  if (more.length > 0 || !TOKEN.test(type) || !TOKEN.test(subtype) || (type === "*" && subtype !== "*")) return null;
  const parameters: string[] = [];
  let quality = 1;
  for (const parameter of rest) {
    if (parameter === "") continue;
    const equals = parameter.indexOf("=");
    if (equals < 1) return null;
    const name = parameter.slice(0, equals).trimEnd().toLowerCase();
    const value = parameter.slice(equals + 1).trimStart();
    if (name === "q") {
      if (!WEIGHT.test(value)) return null;
      quality = Number(value);
    } else parameters.push(`${name}=${value.replaceAll('"', "").toLowerCase()}`);
  }
  return { type, subtype, parameters: parameters.sort(), quality };
}

/** Parses the ranges of an `Accept` header; skips invalid ones. */
function parseAccept(accept: string): MediaRange[] {
  return splitOutsideQuotes(accept, ",")
    .map(parseRange)
    .filter((range) => range !== null);
}

/** How specific a range is: 0 for everything, 1 for `text/*`, 2 for `text/html`, and one more for each parameter. */
function precision(range: MediaRange): number {
  if (range.type === "*") return 0;
  return range.subtype === "*" ? 1 : 2 + range.parameters.length;
}

function covers(range: MediaRange, offer: MediaRange): boolean {
  if (range.type !== "*" && range.type !== offer.type) return false;
  if (range.subtype !== "*" && range.subtype !== offer.subtype) return false;
  return range.parameters.every((parameter) => offer.parameters.includes(parameter));
}

/** Returns the weight of an offered type, from the most specific range that covers it; 0 if none does. */
function qualityOf(offer: MediaRange, ranges: readonly MediaRange[]): number {
  let narrowest: MediaRange | null = null;
  for (const range of ranges) {
    if (covers(range, offer) && (narrowest === null || precision(range) > precision(narrowest))) narrowest = range;
  }
  return narrowest?.quality ?? 0;
}

/**
 * Returns the media type that the caller prefers (RFC 9110 §12.5.1).
 *
 * @param accept the `Accept` header; if it is missing or unreadable, everything is accepted
 * @param types the available media types, in order of preference
 * @returns one of `types` as given, or `null` if none is accepted
 */
export function bestType(accept: string | null, types: readonly string[]): string | null {
  const ranges = accept === null ? [] : parseAccept(accept);
  if (ranges.length === 0) return types[0] ?? null;
  let best: string | null = null;
  let bestQuality = 0;
  for (const type of types) {
    const offer = parseRange(type);
    const quality = offer === null ? 0 : qualityOf(offer, ranges);
    if (quality > bestQuality) {
      best = type;
      bestQuality = quality;
    }
  }
  return best;
}

/**
 * Returns the caller's first choice: the range with the greatest weight, and among equals the most specific, or else
 * the first.
 */
function firstChoice(accept: string | null): string | null {
  let first: MediaRange | null = null;
  for (const range of accept === null ? [] : parseAccept(accept)) {
    if (range.quality === 0) continue;
    const isBetter =
      first === null ||
      range.quality > first.quality ||
      (range.quality === first.quality && Math.min(precision(range), 2) > Math.min(precision(first), 2));
    if (isBetter) first = range;
  }
  return first === null ? null : `${first.type}/${first.subtype}`;
}

/** Reports whether a `Content-Type` names JSON: `application/json`, or a type built on it such as `application/problem+json`. */
export function isJsonType(contentType: string | null): boolean {
  return contentType !== null && JSON_TYPE.test(mediaType(contentType));
}

/**
 * Reports whether a caller prefers JSON to a page: if JSON is its first choice, or if it sends JSON and a page isn't
 * its first choice. A browser's first choice is a page; `fetch` and curl accept anything and have no first choice.
 */
export function prefersJson(accept: string | null, contentType: string | null): boolean {
  const first = firstChoice(accept);
  if (isJsonType(first)) return true;
  return isJsonType(contentType) && !PAGE_TYPES.has(first ?? "");
}
