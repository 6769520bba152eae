import { existsSync, readdirSync } from "node:fs";
import { join, parse } from "node:path";
import { canonicalLanguage, type LanguageFile } from "../../messages/index.ts";
import { ConfigurationError, isPlainObject } from "../../support/index.ts";
import { findModule, importModule, MODULE_EXTENSIONS } from "./load-module.ts";

const FOLDER = "lang";

/**
 * Imports an application's language files. `lang/de.ts` exports `MESSAGES`, the German sentences by their keys.
 *
 * @param root the application's folder; `null` if it has none
 * @throws `E_INVALID_CONFIGURATION` if a file isn't named after a language, or doesn't export `MESSAGES`
 */
export async function loadLanguages(root: string | null): Promise<LanguageFile[]> {
  if (root === null || !existsSync(join(root, FOLDER))) return [];
  return Promise.all(languageNames(join(root, FOLDER)).map((name) => readLanguage(root, name)));
}

function languageNames(folder: string): string[] {
  const names = readdirSync(folder).filter((file) => MODULE_EXTENSIONS.includes(parse(file).ext));
  return [...new Set(names.map((file) => parse(file).name).filter((name) => !/\.(d|test)$/.test(name)))].sort();
}

async function readLanguage(root: string, name: string): Promise<LanguageFile> {
  const file = findModule(root, `${FOLDER}/${name}`)!;
  const language = canonicalLanguage(name);
  if (language === null) {
    throw new ConfigurationError(file, "is not named after a language.", "Name it by the language's tag: lang/de.ts.");
  }
  const { MESSAGES: sentences } = await importModule(root, file);
  if (isPlainObject(sentences)) return { file, language, sentences };
  const problem = sentences === undefined ? "does not export MESSAGES." : "exports MESSAGES, which is not an object.";
  throw new ConfigurationError(file, problem, 'Write it as: export const MESSAGES = { "app.hello": "…" };');
}
