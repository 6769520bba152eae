import type { Members } from "./source.ts";

/** The numbers of a tree: the current one, or a commit's. */
export interface State {
  readonly name: string;
  /** In the order of the table. */
  readonly numbers: ReadonlyMap<string, number>;
  readonly members: readonly Members[];
}

/**
 * A Markdown table: a row for each number and for each of the largest classes and interfaces of any state, and a column for each
 * state; "–" if a state doesn't have it.
 */
export function tableOf(states: readonly State[], largest: number): string {
  const columns = states.map(({ numbers, members }) => {
    return new Map([...numbers, ...members.map((one): [string, number] => [rowOf(one), one.count])]);
  });
  const largestRows = states.flatMap(({ members }) => largestOf(members, largest).map(rowOf));
  const names = new Set([...states.flatMap(({ numbers }) => [...numbers.keys()]), ...largestRows]);
  const rows = [...names].map((name) => [name, ...columns.map((column) => String(column.get(name) ?? "–"))]);
  const header = ["", ...states.map(({ name }) => name)];
  const widths = header.map((_, column) => Math.max(3, ...[header, ...rows].map((row) => row[column]!.length)));
  const rule = widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!);
  return [header, rule, ...rows].map((cells) => `| ${cells.map(pad).join(" | ")} |`).join("\n");
}

function rowOf({ name, path }: Members): string {
  return `members of ${name} (${path.split("/")[0]}/)`;
}

function largestOf(members: readonly Members[], count: number): readonly Members[] {
  return members.toSorted((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1)).slice(0, count);
}
