/** Keeps a bounded number of values by key, and drops the least recently used one. */
export class BoundedCache<T> {
  readonly #values = new Map<string, T>();
  readonly #capacity: number;
  /** The most recently used key, which is often requested again immediately, and is already in its place. */
  #latest: readonly [key: string, value: T] | null = null;

  /** @param capacity how many values it keeps at most */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#values.size;
  }

  /** Returns the value of a key, which is created if it is not kept yet. If creating it throws, nothing is kept. */
  get(key: string, make: () => T): T {
    if (this.#latest?.[0] === key) return this.#latest[1];
    let value = this.#values.get(key);
    if (value === undefined) {
      value = make();
      if (this.#values.size >= this.#capacity) this.#values.delete(this.#values.keys().next().value!);
    } else {
      this.#values.delete(key);
    }
    // A Map keeps the order of insertion: the last entry is the most recently used.
    this.#values.set(key, value);
    this.#latest = [key, value];
    return value;
  }
}
