import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE_FOLDER } from "../../support/index.ts";

const DATA = join(PACKAGE_FOLDER, "data");

/** The passwords that attackers try first, and parts of them, all in lower case. */
interface CommonPasswords {
  /**
   * The most common passwords of at least 8 bytes in published lists of leaked passwords, without those that are a word
   * with an ending.
   */
  readonly passwords: ReadonlySet<string>;
  /**
   * First names and common words at the top of these lists. They are refused alone, doubled, and with one of the
   * endings.
   */
  readonly words: ReadonlySet<string>;
  readonly endings: readonly string[];
}

let lists: CommonPasswords | null = null;

/**
 * Reports whether a password is one that attackers try first: a listed one, a listed word alone, doubled or with a
 * listed ending, or a single repeated character. Letter case doesn't matter.
 */
export function isCommon(plain: string): boolean {
  // The lookup ignores case, because attackers try `Password1` as early as `password1`.
  const text = plain.toLowerCase();
  const { passwords, words, endings } = commonPasswords();
  if (passwords.has(text) || words.has(text)) return true;
  const half = text.slice(0, text.length / 2);
  if (text === half + half && words.has(half)) return true;
  if (endings.some((ending) => text.endsWith(ending) && words.has(text.slice(0, -ending.length)))) return true;
  // A single repeated character is as common as the listed passwords, whatever its length.
  return new Set(text).size === 1;
}

/** Reads the lists in `data/` once, when a password is first checked. */
function commonPasswords(): CommonPasswords {
  lists ??= {
    passwords: new Set(linesOf("common-passwords.txt")),
    words: new Set(linesOf("common-words.txt")),
    endings: linesOf("common-endings.txt"),
  };
  return lists;
}

function linesOf(file: string): string[] {
  return readFileSync(join(DATA, file), "utf8").trim().split(/\r?\n/);
}
