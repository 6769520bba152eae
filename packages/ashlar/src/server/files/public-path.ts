/** What no file of a site is named, and what would lead to another folder. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters.
const REFUSED = /[\u0000-\u001f\u007f\\]|\/\/|(?:^|\/)\.\.?(?:\/|$)/;

/**
 * Returns the path of a URL, decoded once, if it can be that of a public file; `null` if an escape is malformed or stands for a
 * slash, or if the path contains a backslash, a control character, an empty segment, or a segment `.` or `..`.
 */
export function publicPath(path: string): string | null {
  if (/%2f|%5c/i.test(path)) return null;
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return null;
  }
  return REFUSED.test(decoded) ? null : decoded;
}
