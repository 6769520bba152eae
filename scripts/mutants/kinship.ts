// How likely a test file is to notice a mutant, by the rare words that they have in common.

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { NumberedMutant } from "./build.ts";

/** Identifiers and the words of sentences, if they are long enough to mean something. */
function wordsOf(text: string): Set<string> {
  return new Set(text.match(/[a-z_]\w{3,}/gi));
}

/** A file's name as separate words. */
function nameOf(path: string): string {
  return basename(path, ".ts").replaceAll("-", " ");
}

/** What the test files have in common with each mutant. */
export class Kinship {
  readonly #words = new Map<string, ReadonlySet<string>>();
  /** The weight of each word: the fewer test files have it, the more it counts. */
  readonly #rarity = new Map<string, number>();
  readonly #known = new Map<string, number>();

  /** Reads all test files. */
  read(files: readonly string[]): void {
    const counts = new Map<string, number>();
    for (const file of files) {
      const words = wordsOf(`${nameOf(file)} ${readFileSync(file, "utf8")}`);
      this.#words.set(file, words);
      for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    for (const [word, count] of counts) this.#rarity.set(word, Math.log(files.length / count));
  }

  /** From 0 (no rare word in common) to 1 (all of the mutant's words that occur in any test). */
  of({ number, file, scope, from }: NumberedMutant, test: string): number {
    const key = `${number} ${test}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    let [common, all] = [0, 0];
    for (const word of wordsOf(`${nameOf(file)} ${scope.replaceAll(".", " ")} ${from}`)) {
      const rarity = this.#rarity.get(word) ?? 0;
      all += rarity;
      if (this.#words.get(test)!.has(word)) common += rarity;
    }
    const kinship = all === 0 ? 0 : (common / all) ** 2;
    this.#known.set(key, kinship);
    return kinship;
  }
}
