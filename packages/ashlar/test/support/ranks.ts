/**
 * The standardized statistic of the Mann–Whitney rank test: how much two samples differ, in standard deviations. It
 * doesn't depend on the distribution's shape, and corrects for ties.
 */
export function rankDifference(one: readonly number[], other: readonly number[]): number {
  const all = [...one.map((value) => ({ value, isOne: true })), ...other.map((value) => ({ value, isOne: false }))];
  all.sort((a, b) => a.value - b.value);
  let [rankSum, ties] = [0, 0];
  for (let start = 0; start < all.length; ) {
    let end = start;
    while (end < all.length && all[end]!.value === all[start]!.value) end++;
    const count = end - start;
    const rank = (start + 1 + end) / 2;
    rankSum += rank * all.slice(start, end).filter(({ isOne }) => isOne).length;
    ties += count ** 3 - count;
    start = end;
  }
  const [n, m, total] = [one.length, other.length, all.length];
  const variance = ((n * m) / 12) * (total + 1 - ties / (total * (total - 1)));
  // All values are the same: there is nothing to rank.
  return variance === 0 ? 0 : (rankSum - (n * (total + 1)) / 2) / Math.sqrt(variance);
}
