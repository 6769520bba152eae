import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Where a separate process imports the framework from, as a `file:` URL: the built package, which loads much faster
 * than its source.
 *
 * @param name of the import path without `ashlar/`; `index` is `ashlar` itself
 */
export function builtModule(name: string): string {
  return pathToFileURL(join(import.meta.dirname, `../../dist/${name}.js`)).href;
}
