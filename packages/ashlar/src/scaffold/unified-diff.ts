import { diff } from "node:util";

const CONTEXT = 3;
const SIGNS = { "-1": "-", "0": " ", "1": "+" } as const;

type Line = readonly [operation: -1 | 0 | 1, text: string];

/**
 * The difference between two texts, as `diff -u` prints it.
 *
 * @param path what the file is called
 * @param before `null` where there is no file yet
 * @returns no lines where there is no difference
 */
export function unifiedDiff(path: string, before: string | null, after: string): string[] {
  if (before === after) return [];
  // The lines that are only in the first argument are marked 1, and those are the ones added here.
  const lines = diff(linesOf(after), linesOf(before ?? "")) as Line[];
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
  const range = (without: -1 | 1): string => {
    const before = lines.slice(0, start).filter(([operation]) => operation !== without).length;
    const count = part.filter(([operation]) => operation !== without).length;
    return `${count === 0 ? before : before + 1},${count}`;
  };
  const body = part.map(([operation, text]) => SIGNS[operation] + text);
  return [`@@ -${range(1)} +${range(-1)} @@`, ...body];
}
