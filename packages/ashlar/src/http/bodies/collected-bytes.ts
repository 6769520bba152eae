/** The initial room for data that doesn't arrive in one piece, in bytes. */
const FIRST_BYTES = 1024;

/**
 * Bytes that arrive in pieces, as one array.
 *
 * Security: they are copied, because a client chooses its pieces. A million of one byte each would take hundreds of times as
 * much as they contain.
 */
export class CollectedBytes {
  /** The only piece so far, as it arrived. */
  #first: Uint8Array | null = null;
  #buffer: Buffer | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The bytes that have been added. Nothing may be added afterwards. */
  get bytes(): Uint8Array<ArrayBuffer> {
    if (this.#buffer !== null) return this.#buffer.subarray(0, this.#size) as Uint8Array<ArrayBuffer>;
    return (this.#first ?? new Uint8Array()) as Uint8Array<ArrayBuffer>;
  }

  add(piece: Uint8Array): void {
    const size = this.#size + piece.length;
    if (this.#size === 0) this.#first = piece;
    else this.#roomFor(size).set(piece, this.#size);
    this.#size = size;
  }

  /** An array with all the bytes, and room for more. */
  #roomFor(size: number): Buffer {
    const current = this.#buffer ?? this.#first!;
    if (this.#buffer !== null && size <= this.#buffer.length) return this.#buffer;
    const larger = Buffer.allocUnsafeSlow(Math.max(size, 2 * current.length, FIRST_BYTES));
    larger.set(current);
    this.#first = null;
    this.#buffer = larger;
    return larger;
  }
}
