import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * The framework's own folder, with its `data/`, `stubs/` and `views/`: the nearest folder above this file that has a
 * `package.json`. In `create-ashlar`, which contains part of the framework, it is `create-ashlar`'s own folder.
 */
export const PACKAGE_FOLDER: string = packageAbove(import.meta.dirname);

/** The framework's version. */
export async function packageVersion(): Promise<string> {
  const manifest = await readFile(join(PACKAGE_FOLDER, "package.json"), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

function packageAbove(folder: string): string {
  return existsSync(join(folder, "package.json")) ? folder : packageAbove(dirname(folder));
}
