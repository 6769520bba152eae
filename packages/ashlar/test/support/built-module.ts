import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Where a process of its own imports the framework from, as a `file:` URL: the package as it was built, which loads in a
 * fraction of the time that its source takes.
 *
 * @param name of the import path without `ashlar/`; `index` is `ashlar` itself
 */
export function builtModule(name: string): string {
  return pathToFileURL(join(import.meta.dirname, `../../dist/${name}.js`)).href;
}
