import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PACKAGE_FOLDER } from "../../support/index.ts";
import { STUBS } from "../files/stub.ts";

/** The folders of stubs whose paths are those in an application. */
export const FOLDERS: readonly string[] = ["application", "pages", "json"];

/** The length of a digest in the record, in hexadecimal digits. */
const DIGITS = 16;

/** The generated files of every version that are the same in all applications: the digests of their texts, by path. */
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

  /** The paths of files that some version has generated, and this one doesn't. */
  get formerPaths(): readonly string[] {
    return Object.keys(this.#digests).filter(
      (path) => !FOLDERS.some((folder) => existsSync(join(STUBS, folder, `${path}.stub`))),
    );
  }

  /** Reports whether a file is as some version has generated it, whatever its line ends. */
  isUnchanged(path: string, text: string): boolean {
    return (this.#digests[path] ?? []).includes(digestOf(text));
  }
}

/** The digest of a generated text, as in the record. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text.replaceAll("\r\n", "\n")).digest("hex").slice(0, DIGITS);
}
