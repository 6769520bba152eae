import { type MailPriority, PRIORITIES } from "./outbox-table.ts";

/** How many more mails can be sent at once. */
export interface MailRoom {
  /** Of any priority. */
  readonly all: number;
  /** How many of them may be bulk mails. */
  readonly bulk: number;
}

/** An item that occupies a slot, until {@link MailPlaces.leave}. */
export interface Placed<T> {
  readonly item: T;
  readonly priority: MailPriority;
}

/**
 * The slots for sending mails concurrently, and this process's queue for them. One slot in five is reserved for mails that
 * aren't bulk, so that bulk mails, which a slow server may hold for a minute each, never occupy all slots. If there is only
 * one slot, all mails share it.
 */
export class MailPlaces<T> {
  readonly #count: number;
  readonly #bulkCount: number;
  readonly #waiting: ReadonlyMap<MailPriority, T[]> = new Map(PRIORITIES.map((priority) => [priority, []]));
  #taken = 0;
  #takenByBulk = 0;

  /** @param count the number of slots, at least 1 */
  constructor(count: number) {
    this.#count = count;
    this.#bulkCount = Math.max(1, count - Math.ceil(count / 5));
  }

  /** How many slots are in use. */
  get taken(): number {
    return this.#taken;
  }

  /** How many items wait for a slot. */
  get waiting(): number {
    return [...this.#waiting.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** How many more mails could be sent right now. */
  get room(): MailRoom {
    const all = this.#count - this.#taken;
    return { all, bulk: Math.min(all, this.#bulkCount - this.#takenByBulk) };
  }

  /** Adds an item to the queue. */
  add(item: T, priority: MailPriority): void {
    this.#waiting.get(priority)!.push(item);
  }

  /** Gives a slot to the first item in the queue. Returns `null` if the queue is empty, or no slot is free. */
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

  /** Frees a slot. */
  leave({ priority }: Pick<Placed<T>, "priority">): void {
    this.#taken--;
    if (priority === "bulk") this.#takenByBulk--;
  }

  /** Empties the queue, and returns its items. */
  clear(): T[] {
    return [...this.#waiting.values()].flatMap((waiting) => waiting.splice(0));
  }
}
