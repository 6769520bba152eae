import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PACKAGE_FOLDER } from "../../support/index.ts";
import { STUBS } from "../files/stub.ts";

/** The stub folders whose paths are the same in an application. */
export const FOLDERS: readonly string[] = ["application", "pages", "json"];

/** The length of a digest in the record, in hexadecimal digits. */
const DIGITS = 16;

/** The generated files in every version that are the same in all applications: the digests of their texts, by path. */
export class GeneratedFiles {
  readonly #digests: Readonly<Record<string, readonly string[]>>;

  private constructor(digests: Readonly<Record<string, readonly string[]>>) {
    this.#digests = digests;
  }

  /** Reads the record in the package: `data/generated-files.json`. */
  static async read(): Promise<GeneratedFiles> {
    const text = await readFile(join(PACKAGE_FOLDER, "data", "generated-files.json"), "utf8");
    return new GeneratedFiles(JSON.parse(text) as Record<string, readonly string[]>);
  }

  /** The paths of files that an earlier version generated, and this one doesn't. */
  get formerPaths(): readonly string[] {
    return Object.keys(this.#digests).filter(
      (path) => !FOLDERS.some((folder) => existsSync(join(STUBS, folder, `${path}.stub`))),
    );
  }

  /** Reports whether a file is unchanged since a version generated it, apart from line endings. */
  isUnchanged(path: string, text: string): boolean {
    return (this.#digests[path] ?? []).includes(digestOf(text));
  }
}

/** A generated text's digest, as in the record. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text.replaceAll("\r\n", "\n")).digest("hex").slice(0, DIGITS);
}
