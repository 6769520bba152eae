import { type MailPriority, PRIORITIES } from "./outbox-table.ts";

/** How many more mails can be sent at once. */
export interface MailRoom {
  /** Of any priority. */
  readonly all: number;
  /** Of these, how many may be bulk. */
  readonly bulk: number;
}

/** Something that has a place, until {@link MailPlaces.leave}. */
export interface Placed<T> {
  readonly item: T;
  readonly priority: MailPriority;
}

/**
 * The slots for sending mails concurrently, and the queue for them in this process. One place in five is kept for what
 * isn't bulk: bulk mails that a slow server holds for a minute each never occupy all of them. A single place is shared.
 */
export class MailPlaces<T> {
  readonly #count: number;
  readonly #bulkCount: number;
  readonly #waiting: ReadonlyMap<MailPriority, T[]> = new Map(PRIORITIES.map((priority) => [priority, []]));
  #taken = 0;
  #takenByBulk = 0;

  /** @param count how many mails are sent at once, at least 1 */
  constructor(count: number) {
    this.#count = count;
    this.#bulkCount = Math.max(1, count - Math.ceil(count / 5));
  }

  /** How many places are taken. */
  get taken(): number {
    return this.#taken;
  }

  /** How many wait for a place. */
  get waiting(): number {
    return [...this.#waiting.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** How many more mails could be sent right now. */
  get room(): MailRoom {
    const all = this.#count - this.#taken;
    return { all, bulk: Math.min(all, this.#bulkCount - this.#takenByBulk) };
  }

  /** Lets something wait for a place. */
  add(item: T, priority: MailPriority): void {
    this.#waiting.get(priority)!.push(item);
  }

  /** Gives a slot to the first in the queue; `null` if the queue is empty, or no slot is free. */
  enter(): Placed<T> | null {
    const { all, bulk } = this.room;
    for (const priority of PRIORITIES) {
      if ((priority === "bulk" ? bulk : all) <= 0) continue;
      const waiting = this.#waiting.get(priority)!;
      if (waiting.length === 0) continue;
      this.#taken++;
      if (priority === "bulk") this.#takenByBulk++;
      return { item: waiting.shift()!, priority };
    }
    return null;
  }

  /** Frees a place. */
  leave({ priority }: Pick<Placed<T>, "priority">): void {
    this.#taken--;
    if (priority === "bulk") this.#takenByBulk--;
  }

  /** Removes everything that waits, and returns it. */
  clear(): T[] {
    return [...this.#waiting.values()].flatMap((waiting) => waiting.splice(0));
  }
}
