import { Code } from "../edits/code.ts";
import { importsOf, withImport } from "../edits/imports.ts";

/** The setting that allows a driver's users several tokens. */
export const MANY_LINE = "tokens: many({ accessMinutes: 15, refreshDays: 30 }),";

/** The setting for the token lifetime of a generated driver, with the comment above it. */
const EXPIRES =
  /^(?:[ \t]*\/\/ How many minutes a token is valid; null: it never expires\.\r?\n)?([ \t]*)expires: 60,?(?=\r?$)/gm;
/** The settings that conflict with this line. */
const TAKEN = /\b(?:tokens|reauthWithinMinutes)\s*:/;
const TYPE_IMPORT = /import type \{ DriversSettings \} from (["'])ashlar\/api\1/;

/** Reports whether a configuration's code allows a driver's users several tokens. */
export function hasMany(code: string): boolean {
  return /\btokens:\s*many\(/.test(code);
}

/**
 * Allows several tokens for the users of a configuration's only driver.
 *
 * @param path the file's name
 * @returns `null` if there are several drivers, or the author has changed the driver's lifetime
 */
export async function withMany(text: string, path: string): Promise<string | null> {
  if ([...text.matchAll(EXPIRES)].length !== 1 || TAKEN.test(text)) return null;
  const code = await parsed(text, path);
  if (code === null) return null;
  const isAlone = ![...importsOf(code).values()].some(({ from }) => from === "ashlar/api");
  const joined = isAlone
    ? text.replace(TYPE_IMPORT, "import { type DriversSettings, many } from $1ashlar/api$1")
    : text;
  const imported = joined === text ? withImport(code, "many", "ashlar/api") : null;
  if (joined === text && imported?.local !== "many") return null;
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  return (imported?.code.text ?? joined).replace(
    EXPIRES,
    (_, indent: string) =>
      `${indent}// Each login gets two tokens: one for requests, and one that renews it.${end}${indent}${MANY_LINE}`,
  );
}

async function parsed(text: string, path: string): Promise<Code | null> {
  try {
    return await Code.of(text, path);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
