/** The share of the longest wait that is still accepted under overload. */
const TARGET_SHARE = 1 / 10;
/** The share of the longest wait for which a longer queue counts as a burst, not an overload. */
const BURST_SHARE = 1 / 2;
/** The share of the target that ends an overload: a standing queue is never that short. */
const CALM_SHARE = 1 / 2;
/** How long after an overload a new queue counts as its continuation, not as a burst, in longest waits. */
const RELAPSE_SHARE = 2;
/**
 * This few waiting requests aren't an overload, unless the longest wait is over: each of them takes long, and its turn
 * comes.
 */
const FEW = 16;

/**
 * Decides by its age whether something that has waited in a line is still worth doing. A burst may make everything wait,
 * because it is over soon. If entries that leave the queue have waited too long for a while, it is a standing queue: it
 * only makes everyone wait, so entries older than a tenth of the longest wait are refused until the queue is short
 * again (CoDel, RFC 8289, with the two limits of "controlled delay"). If it then stands again soon, the load is
 * unchanged, so it isn't taken for a burst again: otherwise everything would wait for as long as a burst may take,
 * again and again (RFC 8289 §4.2 resumes likewise).
 */
export class ControlledDelay {
  readonly #maxMs: number;
  readonly #targetMs: number;
  readonly #burstMs: number;
  readonly #calmMs: number;
  readonly #relapseMs: number;
  /** Since when every entry that left the queue had waited longer than the target; `null` if the queue is short. */
  #aboveSince: number | null = null;
  /** When the queue last stood. */
  #stoodAt = Number.NEGATIVE_INFINITY;

  /** @param maxMs how long an entry may wait before it is handled or refused, in milliseconds */
  constructor(maxMs: number) {
    this.#maxMs = maxMs;
    this.#targetMs = maxMs * TARGET_SHARE;
    this.#burstMs = maxMs * BURST_SHARE;
    this.#calmMs = this.#targetMs * CALM_SHARE;
    this.#relapseMs = maxMs * RELAPSE_SHARE;
  }

  /** Whether a wait of this length shows that there is no overload. */
  isCalm(ageMs: number): boolean {
    return ageMs <= this.#calmMs && this.#aboveSince === null;
  }

  /**
   * Decides whether to refuse the entry that leaves the queue now.
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
   * Whether a new entry should be refused at once, because it would wait too long.
   *
   * @param oldestMs for how long the first in the queue has waited
   * @param length how many wait
   */
  refusesBehind(oldestMs: number, length: number, now: number): boolean {
    return oldestMs > this.#targetMs && length >= FEW && this.stands(now);
  }

  /** Notes that the queue is empty, so the next entry doesn't have to wait. */
  emptied(): void {
    this.#aboveSince = null;
  }

  /** Whether there is an overload. */
  stands(now: number): boolean {
    if (this.#aboveSince === null) return false;
    return now - this.#aboveSince > this.#burstMs || this.#aboveSince - this.#stoodAt <= this.#relapseMs;
  }
}
