/** A change that a page shows to one place in a file. */
export interface PageChange {
  /** The file, relative to the application. */
  readonly path: string;
  /** The lines to replace, which must be in the file exactly once. */
  readonly before: string;
  /** The lines to put there instead. */
  readonly after: string;
}

/**
 * The changes in a `diff` code block, in order. It begins with a file's path, `--- config/auth.ts`, and may contain
 * other files; `@@` separates places in a file.
 *
 * @throws if it doesn't begin with a path
 */
export function pageChanges(code: string): PageChange[] {
  return code.split(/^(?=--- )/m).flatMap((part) => {
    const [head = "", ...lines] = part.trimEnd().split("\n");
    const path = /^--- ([\w./@-]+)$/.exec(head)?.[1];
    if (path === undefined)
      throw new Error(`A change begins with the path of its file, --- routes/web.ts, not with ${head}`);
    return placesOf(lines).map((place) => ({ path, before: linesOf(place, "-"), after: linesOf(place, "+") }));
  });
}

/**
 * Makes a change in a file's text.
 *
 * @throws if the file doesn't have the lines exactly once
 */
export function changed(text: string, { path, before, after }: PageChange): string {
  if (before === "" || text.split(before).length !== 2) {
    throw new Error(`${path} has these lines not exactly once:\n${before}`);
  }
  return text.replace(before, () => after);
}

/** The lines that are unchanged or begin with the given sign, without their first character. */
function linesOf(place: readonly string[], sign: "+" | "-"): string {
  return place
    .filter((line) => line === "" || line.startsWith(" ") || line.startsWith(sign))
    .map((line) => line.slice(1))
    .join("\n");
}

function placesOf(lines: readonly string[]): string[][] {
  const all: string[][] = [[]];
  for (const line of lines) {
    if (line === "@@") all.push([]);
    else all.at(-1)!.push(line);
  }
  return all.filter((place) => place.length > 0);
}
