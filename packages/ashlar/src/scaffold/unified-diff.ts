// By its namespace: the generator also loads where Node.js is too old to have `diff`, and never calls it.
import * as util from "node:util";

const CONTEXT = 3;
/** The platform marks with 1 what is only in the first of two texts. */
const REMOVED = 1;
const ADDED = -1;
const SIGNS = { [REMOVED]: "-", 0: " ", [ADDED]: "+" } as const;

type Line = readonly [operation: typeof REMOVED | 0 | typeof ADDED, text: string];

/**
 * The difference between two texts, as `diff -u` prints it.
 *
 * @param path what the file is called
 * @param before `null` where there is no file yet
 * @returns no lines where there is no difference
 */
export function unifiedDiff(path: string, before: string | null, after: string): string[] {
  if (before === after) return [];
  const lines = util.diff(linesOf(before ?? ""), linesOf(after)) as Line[];
  const hunks = hunksOf(lines).map(([start, end]) => hunk(lines, start, end));
  return [before === null ? "--- /dev/null" : `--- a/${path}`, `+++ b/${path}`, ...hunks.flat()];
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** Where lines differ, and those around; what touches is one. */
function hunksOf(lines: readonly Line[]): [start: number, end: number][] {
  const hunks: [number, number][] = [];
  for (const [index, [operation]] of lines.entries()) {
    if (operation === 0) continue;
    const start = Math.max(0, index - CONTEXT);
    const end = Math.min(lines.length, index + CONTEXT + 1);
    const last = hunks.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = end;
    else hunks.push([start, end]);
  }
  return hunks;
}

function hunk(lines: readonly Line[], start: number, end: number): string[] {
  const part = lines.slice(start, end);
  const range = (without: typeof REMOVED | typeof ADDED): string => {
    const before = lines.slice(0, start).filter(([operation]) => operation !== without).length;
    const count = part.filter(([operation]) => operation !== without).length;
    return `${count === 0 ? before : before + 1},${count}`;
  };
  const body = part.map(([operation, text]) => SIGNS[operation] + text);
  return [`@@ -${range(ADDED)} +${range(REMOVED)} @@`, ...body];
}
