/** Keeps a bounded number of values by key, and drops the one that was not used for longest. */
export class BoundedCache<T> {
  readonly #values = new Map<string, T>();
  readonly #capacity: number;
  /** The latest used one, which is often asked for again at once, and has its place already. */
  #latest: readonly [key: string, value: T] | null = null;

  /** @param capacity how many values it keeps at most */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#values.size;
  }

  /** The value of a key, made where it is not kept yet. Nothing is kept where making it throws. */
  get(key: string, make: () => T): T {
    if (this.#latest?.[0] === key) return this.#latest[1];
    let value = this.#values.get(key);
    if (value === undefined) {
      value = make();
      if (this.#values.size >= this.#capacity) this.#values.delete(this.#values.keys().next().value!);
    } else {
      this.#values.delete(key);
    }
    // A Map keeps the order of insertion: the last one is the latest used.
    this.#values.set(key, value);
    this.#latest = [key, value];
    return value;
  }
}
