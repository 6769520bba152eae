import { withLineEndsOf } from "./files.ts";

const EXAMPLE = ".env.example";
/** A secret's line, whatever it holds. */
const SECRET = /^(APP_KEY|JWT_SECRET)=([^\r\n]*)$/gm;

/**
 * What `.env` is to hold once a feature is added, if it is still as it was made: its secrets stay.
 *
 * @param before its text; `null` if there is none
 * @param changes the files of each application that may have been made, before and after
 * @returns `null` if its author has changed it, or it has everything
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
