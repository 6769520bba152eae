/** A request of a user who sends them one after the other. Times are in milliseconds of `performance.now()`. */
export interface Probe {
  readonly sentAt: number;
  readonly endedAt: number;
  readonly isOk: boolean;
}

/**
 * How long recovery from a fault took, in milliseconds: until the first accepted request after the last failed one before
 * the next fault. If every request before the next fault failed, the first one accepted after it counts; if all failed, the
 * result is infinity. Requests in flight when the next fault happened are ignored.
 *
 * @param until when the next fault happened; infinity if there wasn't one
 */
export function recovery(probes: readonly Probe[], from: number, until: number): number {
  const after = probes.filter(({ sentAt, endedAt, isOk }) => (isOk ? sentAt >= from : endedAt > from));
  const last = after.findLastIndex(({ isOk, endedAt }) => !isOk && endedAt <= until);
  const first = after.find(({ isOk }, index) => isOk && index > last);
  return first === undefined ? Number.POSITIVE_INFINITY : first.endedAt - from;
}
