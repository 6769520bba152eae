/**
 * Writes a path so that a shell takes it literally, as one word that isn't an option.
 *
 * On Windows, the user may paste it into `cmd.exe` or PowerShell. Both take a path in double quotes, but no kind of
 * quotes stops both from expanding: a character that one of them might expand becomes `?`, which matches any character
 * in `cd`.
 */
export function shellWord(path: string, platform: string = process.platform): string {
  const isWindows = platform === "win32";
  const word = path.startsWith("-") ? `.${isWindows ? "\\" : "/"}${path}` : path;
  if (isWindows) return /^[\w.\\:-]+$/.test(word) ? word : `"${word.replace(/[$`%!"\u201c-\u201e]/g, "?")}"`;
  return /^[\w./:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
