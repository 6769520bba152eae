import type { DescribedReference } from "./described-database.ts";

/** The order in which tables are filled. */
export interface CopyOrder {
  readonly tables: readonly string[];
  /**
   * The foreign keys that this order doesn't satisfy, because a table refers to itself, or tables refer to each other.
   */
  readonly unordered: readonly DescribedReference[];
}

/** Puts tables after the tables that they refer to, as far as possible. */
export function copyOrder(names: Iterable<string>, references: readonly DescribedReference[]): CopyOrder {
  const left = new Set([...names].sort());
  const known = references.filter(({ table, parent }) => left.has(table) && left.has(parent));
  const tables: string[] = [];
  const unordered = new Set(known.filter(({ table, parent }) => table === parent));
  while (left.size > 0) {
    const waitsFor = (name: string) =>
      known.filter((one) => one.table === name && one.parent !== name && left.has(one.parent));
    const [next] = [...left].sort((a, b) => waitsFor(a).length - waitsFor(b).length || (a < b ? -1 : 1)) as [string];
    for (const one of waitsFor(next)) unordered.add(one);
    left.delete(next);
    tables.push(next);
  }
  return { tables, unordered: [...unordered] };
}
