import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PublishedFiles } from "../../boot/index.ts";
import { PACKAGE_FOLDER } from "../../support/index.ts";

/** One of the steps of a feature that is added to accounts. */
export type PublishedStep = NonNullable<PublishedFiles["steps"]>[number];

/** The account pages' layout. */
const LAYOUT = "views/layouts/main.edge";

/** Reports whether an application has account pages; otherwise its routes respond with JSON. */
export function hasAccountPages(root: string): boolean {
  return existsSync(join(root, LAYOUT));
}

/**
 * The texts of stubs, under the same keys.
 *
 * @param folder the stubs' folder below `stubs/`
 * @param names the stubs' names, by the path or name of the resulting file
 */
export async function publishedStubs(
  folder: string,
  names: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const texts = Object.entries(names).map(async ([path, name]) => {
    return [path, await readFile(join(PACKAGE_FOLDER, "stubs", folder, `${name}.stub`), "utf8")] as const;
  });
  return Object.fromEntries(await Promise.all(texts));
}
