/** The median of some times; of an even number of them, the upper one. */
export function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1]!;
}
