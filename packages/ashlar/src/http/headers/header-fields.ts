import { AshlarError } from "../../support/index.ts";
import "../errors.ts";

/** A field name is a token (RFC 9110 §5.1). */
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Visible characters, spaces and tabs (RFC 9110 §5.5). One character is one byte on the wire. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers about the content, its location, or its transfer, which don't apply to any other content. */
export const CONTENT_HEADERS: readonly string[] = [
  "accept-ranges",
  "content-digest",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-range",
  "content-type",
  "etag",
  "last-modified",
  "location",
  "refresh",
  "repr-digest",
  "trailer",
  "transfer-encoding",
];

/**
 * Checks a header before it is stored, so that no text can end the header and begin another (response splitting).
 *
 * @throws `E_INVALID_HEADER` if the name is not a token, or the value contains a line break, another control character
 *   or one beyond U+00FF
 */
export function checkHeader(name: string, value: string): void {
  if (!NAME.test(name)) {
    throw new AshlarError("E_INVALID_HEADER", `${JSON.stringify(name)} cannot be the name of a header.`);
  }
  if (!VALUE.test(value)) {
    const problem = "contains a line break, another control character or one beyond U+00FF.";
    throw new AshlarError("E_INVALID_HEADER", `The value of the header "${name}" ${problem}`);
  }
}

/** Headers that many responses share. They are checked once, here. */
export class CheckedHeaders {
  /** Names in lower case, with their values. */
  readonly entries: readonly (readonly [name: string, values: readonly string[]])[];

  /** @throws `E_INVALID_HEADER` like {@link checkHeader} */
  constructor(headers: readonly (readonly [name: string, value: string])[]) {
    this.entries = headers.map(([name, value]) => {
      checkHeader(name, value);
      return [name.toLowerCase(), [value]];
    });
  }
}

/** Normalizes a header's name: `Content_Type`, `CONTENT-TYPE` and `content-type` are the same. */
export function headerKey(name: string): string {
  return (name.includes("_") ? name.replaceAll("_", "-") : name).toLowerCase();
}

/** Reports whether a `Vary` names a request header, or all of them (RFC 9110 §12.5.5). */
export function isVaried(vary: string, field: string): boolean {
  const named = vary.split(",").map((one) => one.trim().toLowerCase());
  return named.includes("*") || named.includes(field.toLowerCase());
}
