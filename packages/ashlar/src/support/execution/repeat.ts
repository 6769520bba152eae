/** For at least how long a replaced token's successor is given again, so that a lost answer locks no one out. */
export const REPEAT_SECONDS = 60;
/** A successor is of the period in which its token was replaced, so that requests at the same time derive the same one. */
export const REPEAT_PERIOD_SECONDS = 5;

/** The beginning of the period that a time is in; both in seconds. */
export function repeatPeriodOf(seconds: number): number {
  return seconds - (seconds % REPEAT_PERIOD_SECONDS);
}
