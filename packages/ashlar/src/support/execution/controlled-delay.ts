/** The share of the maximum wait that is still accepted under overload. */
const TARGET_SHARE = 1 / 10;
/** The share of the maximum wait for which a long queue counts as a burst rather than an overload. */
const BURST_SHARE = 1 / 2;
/** The share of the target at which an overload ends. A standing queue never gets that short. */
const CALM_SHARE = 1 / 2;
/**
 * How long after an overload a new queue counts as a continuation of it rather than a burst, as a multiple of the
 * maximum wait.
 */
const RELAPSE_SHARE = 2;
/**
 * Fewer waiting requests than this aren't an overload unless they exceed the maximum wait. Each of them takes long, but
 * will get its turn.
 */
const FEW = 16;

/**
 * Decides whether to handle a queue's entry, based on the entry's age. In a burst, all entries may wait, because it is
 * over soon. If the entries that leave the queue have all waited too long for some time, the queue is a standing queue,
 * which only makes everyone wait. Entries older than a tenth of the maximum wait are then refused until the queue is
 * short again (CoDel, RFC 8289, with the two limits of "controlled delay"). If there is a standing queue again soon
 * after that, the load is unchanged, so it doesn't count as a burst. Otherwise, all entries would repeatedly wait for
 * as long as a burst may last (RFC 8289 §4.2 resumes in the same way).
 */
export class ControlledDelay {
  readonly #maxMs: number;
  readonly #targetMs: number;
  readonly #burstMs: number;
  readonly #calmMs: number;
  readonly #relapseMs: number;
  /**
   * The time since which every entry that left the queue had waited longer than the target; `null` if the queue is
   * short.
   */
  #aboveSince: number | null = null;
  /** When there was last a standing queue. */
  #stoodAt = Number.NEGATIVE_INFINITY;

  /** @param maxMs how long an entry may wait before it is handled or refused, in milliseconds */
  constructor(maxMs: number) {
    this.#maxMs = maxMs;
    this.#targetMs = maxMs * TARGET_SHARE;
    this.#burstMs = maxMs * BURST_SHARE;
    this.#calmMs = this.#targetMs * CALM_SHARE;
    this.#relapseMs = maxMs * RELAPSE_SHARE;
  }

  /** Whether a wait of this length means that there is no overload. */
  isCalm(ageMs: number): boolean {
    return ageMs <= this.#calmMs && this.#aboveSince === null;
  }

  /**
   * Decides whether to refuse the entry that leaves the queue now.
   *
   * @param ageMs how long it has waited, in milliseconds
   * @param left how many entries are waiting behind it
   * @param now the current time, by `performance.now()`
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
   * @param oldestMs how long the first entry in the queue has waited
   * @param length how many entries are waiting
   */
  refusesBehind(oldestMs: number, length: number, now: number): boolean {
    return oldestMs > this.#targetMs && length >= FEW && this.stands(now);
  }

  /** Records that the queue is empty, so that the next entry doesn't have to wait. */
  emptied(): void {
    this.#aboveSince = null;
  }

  /** Whether there is an overload. */
  stands(now: number): boolean {
    if (this.#aboveSince === null) return false;
    return now - this.#aboveSince > this.#burstMs || this.#aboveSince - this.#stoodAt <= this.#relapseMs;
  }
}
