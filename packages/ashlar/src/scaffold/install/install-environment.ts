import { withLineEndsOf } from "../files/files.ts";

const EXAMPLE = ".env.example";
/** A secret's line, with any value. */
const SECRET = /^(APP_KEY|JWT_SECRET)=([^\r\n]*)$/gm;

/**
 * Returns the content of `.env` with a feature added, if the file is still as generated. Secrets are kept.
 *
 * @param before the file's text; `null` if there is no file
 * @param changes the files of each application that may have been generated, before and after
 * @returns `null` if the author has changed the file, or nothing is missing
 */
export function environmentWith(
  before: string | null,
  changes: readonly (readonly [made: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>])[],
): string | null {
  if (before === null) return null;
  const blank = (text: string) => text.replaceAll(SECRET, "$1=");
  const change = changes.find(([made]) => blank(before) === withLineEndsOf(before, made.get(EXAMPLE) ?? ""));
  if (change === undefined) return null;
  const secrets = new Map([...before.matchAll(SECRET)].map(([, name, value]) => [name, value]));
  const text = withLineEndsOf(before, change[1].get(EXAMPLE)!);
  const after = text.replaceAll(SECRET, (line, name: string) =>
    secrets.has(name) ? `${name}=${secrets.get(name)}` : line,
  );
  return after === before ? null : after;
}
