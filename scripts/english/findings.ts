import { MARKERS } from "./markers.ts";
import { proseOf } from "./prose.ts";

export interface Finding {
  readonly line: number;
  /** The phrase as it was written. */
  readonly text: string;
  readonly instead: string;
}

const PATTERNS = MARKERS.map(({ phrase, instead }) => {
  return { pattern: new RegExp(`(?<![\\w-])(?:${phrase.replaceAll(" ", "\\s+")})(?![\\w-])`, "gi"), instead };
});

/** The marked phrases in a file, in the order of their positions. */
export function findingsIn(path: string, source: string): Finding[] {
  const prose = proseOf(path, source);
  const found = PATTERNS.flatMap(({ pattern, instead }) => {
    return [...prose.matchAll(pattern)].map(({ index, 0: text }) => ({ index, text, instead }));
  });
  return found
    .sort((a, b) => a.index - b.index)
    .map(({ index, text, instead }) => {
      return { line: prose.slice(0, index).split("\n").length, text: text.replaceAll(/\s+/g, " "), instead };
    });
}
