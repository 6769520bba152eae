import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY } from "./samples.ts";

/** A table of a Markdown page. */
export interface PageTable {
  /** The heading above it, without `#`. */
  readonly heading: string;
  /** The titles of its columns. */
  readonly columns: readonly string[];
  /** Its rows: the cells by column. */
  readonly rows: readonly Readonly<Record<string, string>>[];
}

/**
 * The tables of a Markdown page, in order.
 *
 * @param page relative to the repository, such as `docs/reference/errors.md`
 */
export async function pageTables(page: string): Promise<PageTable[]> {
  const tables: { heading: string; columns: string[]; rows: Record<string, string>[] }[] = [];
  let heading = "";
  let open: (typeof tables)[number] | null = null;
  for (const line of (await readFile(join(REPOSITORY, page), "utf8")).split("\n")) {
    const [, title] = /^#+ (.+)$/.exec(line) ?? [];
    if (title !== undefined) heading = title;
    if (!line.startsWith("|")) {
      open = null;
      continue;
    }
    const cells = cellsOf(line);
    if (open === null) {
      open = { heading, columns: cells, rows: [] };
      tables.push(open);
    } else if (!/^[|\s:-]+$/.test(line) || /\w/.test(line)) {
      open.rows.push(Object.fromEntries(open.columns.map((column, index) => [column, cells[index] ?? ""])));
    }
  }
  return tables;
}

/** The text of a cell that only contains code, or `null`. */
export function codeOf(cell: string): string | null {
  return /^`([^`]+)`$/.exec(cell)?.[1] ?? null;
}

/** A `|` within a cell is written as `\|`. */
function cellsOf(line: string): string[] {
  const cells = line
    .trim()
    .slice(1)
    .replace(/\|$/, "")
    .split(/(?<!\\)\|/);
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}
