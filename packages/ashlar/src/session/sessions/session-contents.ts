import { type Dictionary, dictionary, isPlainObject, isPrototypeName } from "../../support/index.ts";
import { freezeParsed } from "../stores/session-value.ts";

/** A session's contents between two requests. */
export interface SessionContents {
  /** Values that stay until they are removed. */
  readonly data: Dictionary;
  /** Values that only the next request sees. */
  readonly flash: Dictionary;
  /**
   * Whether something outside depends on the session's id, such as a form's token, so that an empty session is kept
   * too.
   */
  readonly isIdentified: boolean;
}

/** The contents as text; `null` if nothing has to be kept. */
export function encodeContents({ data, flash, isIdentified }: SessionContents): string | null {
  const contents: Record<string, unknown> = {};
  if (Object.keys(data).length > 0) contents.d = data;
  if (Object.keys(flash).length > 0) contents.f = flash;
  if (isIdentified) contents.i = 1;
  return Object.keys(contents).length === 0 ? null : JSON.stringify(contents);
}

/** The contents encoded in a text; `null` if it does not come from {@link encodeContents}. */
export function decodeContents(text: string): SessionContents | null {
  const contents = parse(text);
  if (!isPlainObject(contents)) return null;
  const { d: data = {}, f: flash = {}, i: identified } = contents;
  if (!isPlainObject(data) || !isPlainObject(flash)) return null;
  return { data: frozenMembers(data), flash: frozenMembers(flash), isIdentified: identified === 1 };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function frozenMembers(values: Readonly<Dictionary>): Dictionary {
  const result = dictionary();
  for (const [key, value] of Object.entries(values)) {
    if (!isPrototypeName(key)) result[key] = freezeParsed(value);
  }
  return result;
}
