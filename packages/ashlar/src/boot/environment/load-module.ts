import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { AshlarError, ConfigurationError, placeOf } from "../../support/index.ts";

/** The extensions of an application's modules. */
export const MODULE_EXTENSIONS: readonly string[] = [".ts", ".js"];

/**
 * Finds a module's file by its path without the extension.
 *
 * @param root the application's folder
 * @param name the module's path in it, such as `routes/web`
 * @returns the path in the application with its extension, or `null` if there is no such file
 * @throws `E_INVALID_CONFIGURATION` if there are two such files
 */
export function findModule(root: string, name: string): string | null {
  const found = MODULE_EXTENSIONS.map((extension) => name + extension).filter((file) => existsSync(join(root, file)));
  if (found.length > 1) {
    throw new ConfigurationError(found.join(" and "), "both exist, but only one can be used.", "Remove one.");
  }
  return found[0] ?? null;
}

/**
 * Imports a module of an application.
 *
 * @param root the application's folder
 * @param file the module's path in it, with its extension
 * @param version a version that differs from the previous one makes the module run again
 * @throws `E_INVALID_CONFIGURATION` with the file's name; if the module throws an `AshlarError`, that error
 */
export async function importModule(
  root: string,
  file: string,
  version = "",
): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(/* @vite-ignore */ pathToFileURL(join(root, file)).href + version);
  } catch (error) {
    if (error instanceof AshlarError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const place = placeOf(error);
    const message = `${file}: it could not be loaded: ${reason}${place === null ? "" : ` (at ${place})`}`;
    throw new AshlarError("E_INVALID_CONFIGURATION", message, { cause: error });
  }
}
