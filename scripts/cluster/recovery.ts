/** A request of a person who sends one after the other, in milliseconds of `performance.now()`. */
export interface Probe {
  readonly sentAt: number;
  readonly endedAt: number;
  readonly isOk: boolean;
}

/**
 * How long it took, in milliseconds, from a fault until the first request that was accepted after the last one that wasn't,
 * before the next fault. If all failed until then, it is the first one after that; if all did, infinity. A request that was
 * on its way when the next fault happened says nothing about this one.
 *
 * @param until when the next fault happened; infinity if there wasn't one
 */
export function recovery(probes: readonly Probe[], from: number, until: number): number {
  const after = probes.filter(({ sentAt, endedAt, isOk }) => (isOk ? sentAt >= from : endedAt > from));
  const last = after.findLastIndex(({ isOk, endedAt }) => !isOk && endedAt <= until);
  const first = after.find(({ isOk }, index) => isOk && index > last);
  return first === undefined ? Number.POSITIVE_INFINITY : first.endedAt - from;
}
