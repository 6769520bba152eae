// All mutants of the mutated folders, numbered, and the Vite plugin that inserts them when the tests load the sources.

import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { instrument, type Mutant } from "./instrument.ts";

export interface NumberedMutant extends Mutant {
  readonly number: number;
  /** The file's path, relative to the source folder. */
  readonly file: string;
  /** Identifies the mutant across runs: file, scope, texts, and an index for duplicates. */
  readonly key: string;
  /** The digest of what its result depends on. */
  readonly unit: string;
}

const root = join(import.meta.dirname, "../..");
export const sources: string = join(root, "packages/ashlar/src");

export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

export class MutantBuild {
  readonly mutants: readonly NumberedMutant[];
  readonly #code: ReadonlyMap<string, string>;
  readonly #hashes: ReadonlyMap<string, string>;

  /** Reads every source file in these folders of the framework, except some files. */
  constructor(folders: readonly string[], except: readonly string[]) {
    const mutants: NumberedMutant[] = [];
    const code = new Map<string, string>();
    const hashes = new Map<string, string>();
    const files = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: sources }).sort());
    for (const file of files.filter((name) => !name.endsWith(".test.ts") && !except.includes(name))) {
      const path = join(sources, file);
      const source = readFileSync(path, "utf8");
      const made = instrument(path, source, mutants.length);
      const times = new Map<string, number>();
      for (const mutant of made.mutants) {
        const plain = `${file}#${mutant.scope}: ${mutant.from} → ${mutant.to}`;
        const time = (times.get(plain) ?? 0) + 1;
        times.set(plain, time);
        const key = time === 1 ? plain : `${plain} (${time})`;
        mutants.push({ ...mutant, file, number: mutants.length, key, unit: hashOf(mutant.essence) });
      }
      code.set(path, made.code);
      hashes.set(file, hashOf(made.essence));
    }
    this.mutants = mutants;
    this.#code = code;
    this.#hashes = hashes;
  }

  /** The digest of a source as it was read. It ignores comments and imports. */
  hash(file: string): string | undefined {
    return this.#hashes.get(file);
  }

  plugin(): { name: string; enforce: "pre"; transform(code: string, id: string): { code: string; map: null } | null } {
    return {
      name: "ashlar-mutants",
      enforce: "pre",
      transform: (_, id) => {
        const code = this.#code.get(id.replace(/\?.*$/, ""));
        return code === undefined ? null : { code, map: null };
      },
    };
  }
}
