import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE_FOLDER } from "../../support/index.ts";

const DATA = join(PACKAGE_FOLDER, "data");

/** The passwords that are guessed first, and parts of them, all in lower case. */
interface CommonPasswords {
  /**
   * The most common ones in published lists of leaked passwords, of at least 8 bytes, without words that have an
   * ending.
   */
  readonly passwords: ReadonlySet<string>;
  /** First names and everyday words that top these lists: alone, doubled, or with one of the endings. */
  readonly words: ReadonlySet<string>;
  readonly endings: readonly string[];
}

let lists: CommonPasswords | null = null;

/** Reads the lists in `data/`, once, when the first password is checked. */
export function commonPasswords(): CommonPasswords {
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
