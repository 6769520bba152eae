/** What of the longest wait something may have waited once there is an overload. */
const TARGET_SHARE = 1 / 10;
/** For what of the longest wait more than that is a burst, and not an overload. */
const BURST_SHARE = 1 / 2;
/** What of the target ends an overload: a line that stands is never that short. */
const CALM_SHARE = 1 / 2;
/** For how many of the longest waits after an overload the next one is that one again, and not a burst. */
const RELAPSE_SHARE = 2;
/**
 * So few waiting requests aren't an overload, unless the longest wait is over: each of them takes long, and its turn
 * comes.
 */
const FEW = 16;

/**
 * Decides by its age whether something that has waited in a line is still worth doing. A burst may make everything wait,
 * because it is over soon. If what comes out has waited too long for a while, the line stands: it only makes everyone wait, so
 * what is older than a tenth of the longest wait is refused, until the line has become short again (CoDel, RFC 8289, with
 * the two limits of "controlled delay"). If it then stands again soon, the load is unchanged, so it isn't taken for a
 * burst again: otherwise everything would wait for as long as a burst may take, again and again (RFC 8289 §4.2 resumes
 * likewise).
 */
export class ControlledDelay {
  readonly #maxMs: number;
  readonly #targetMs: number;
  readonly #burstMs: number;
  readonly #calmMs: number;
  readonly #relapseMs: number;
  /** Since when everything that came out has waited for longer than the target; `null` if the line is short. */
  #aboveSince: number | null = null;
  /** When the line last stood. */
  #stoodAt = Number.NEGATIVE_INFINITY;

  /** @param maxMs how long something may wait before it is done or refused, in milliseconds */
  constructor(maxMs: number) {
    this.#maxMs = maxMs;
    this.#targetMs = maxMs * TARGET_SHARE;
    this.#burstMs = maxMs * BURST_SHARE;
    this.#calmMs = this.#targetMs * CALM_SHARE;
    this.#relapseMs = maxMs * RELAPSE_SHARE;
  }

  /** Whether something that has waited for so long tells of no overload at all. */
  isCalm(ageMs: number): boolean {
    return ageMs <= this.#calmMs && this.#aboveSince === null;
  }

  /**
   * Decides about what comes out of the line now, and reports whether it is to be refused.
   *
   * @param ageMs for how long it has waited
   * @param left how many wait behind it
   * @param now in milliseconds of `performance.now()`
   */
  refuses(ageMs: number, left: number, now: number): boolean {
    if (this.stands(now)) this.#stoodAt = now;
    if (ageMs <= this.#calmMs) this.#aboveSince = null;
    if (ageMs <= this.#targetMs) return false;
    this.#aboveSince ??= now;
    return this.stands(now) && (left >= FEW || ageMs > this.#maxMs);
  }

  /**
   * Whether what would join the line now should be refused at once, because it would wait too long.
   *
   * @param oldestMs for how long the first in the line has waited
   * @param length how many wait
   */
  refusesBehind(oldestMs: number, length: number, now: number): boolean {
    return oldestMs > this.#targetMs && length >= FEW && this.stands(now);
  }

  /** Nothing waits anymore, and what comes next doesn't have to. */
  emptied(): void {
    this.#aboveSince = null;
  }

  /** Whether there is an overload. */
  stands(now: number): boolean {
    if (this.#aboveSince === null) return false;
    return now - this.#aboveSince > this.#burstMs || this.#aboveSince - this.#stoodAt <= this.#relapseMs;
  }
}
