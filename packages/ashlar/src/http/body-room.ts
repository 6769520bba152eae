import { AshlarError } from "../support/index.ts";
import { tooLarge } from "./body-source.ts";

/**
 * A body of this size, in bytes, always has room: logins and clicks go on while others upload. A connection costs the process
 * about as much.
 */
export const ALWAYS_ROOM_BYTES = 65_536;

/** How fast a client has to send what it has announced, or its room goes to others that need it. */
const GRACE_MS = 1000;
const MIN_BYTES_PER_MS = 64;

/**
 * The room that the bodies of all requests share. What a client has announced is reserved before anything is read, so that
 * what doesn't fit is refused at once, and not in the middle.
 *
 * Security: an announcement costs nothing. From a client that doesn't send as announced, others take the reservation.
 */
export class BodyRoom {
  readonly #maxBytes: number;
  readonly #setting: string;
  readonly #reserving = new Set<RoomShare>();
  #usedBytes = 0;

  /** @param setting what sets the maximum, for the log */
  constructor(maxBytes: number, setting: string) {
    this.#maxBytes = maxBytes;
    this.#setting = setting;
  }

  /** What is held and reserved, in bytes. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** A share of the room, for one request. */
  share(): RoomShare {
    const room = { claim: this.#claim, free: this.#free, reserving: this.#reserving };
    return new RoomShare(room);
  }

  readonly #claim = (bytes: number, total: number): void => {
    if (total > this.#maxBytes) throw tooLarge(this.#maxBytes);
    const isShort = () => total > ALWAYS_ROOM_BYTES && this.#usedBytes + bytes > this.#maxBytes;
    if (isShort()) this.#takeFromSlow();
    if (isShort()) throw this.#full();
    this.#usedBytes += bytes;
  };

  readonly #free = (bytes: number): void => {
    this.#usedBytes -= bytes;
  };

  #takeFromSlow(): void {
    const now = performance.now();
    for (const share of [...this.#reserving]) if (share.isBehind(now)) share.dropReservation();
  }

  #full(): AshlarError {
    const problem = `The bodies of all requests together would need more than APP.limits.${this.#setting}: ${this.#maxBytes} bytes.`;
    return new AshlarError("E_OVERLOADED", problem, { headers: { "retry-after": "5", connection: "close" } });
  }
}

interface SharedRoom {
  /** Takes room for more bytes of a share that then has `total`. */
  readonly claim: (bytes: number, total: number) => void;
  readonly free: (bytes: number) => void;
  readonly reserving: Set<RoomShare>;
}

/** What one request has of a {@link BodyRoom}: what it holds, and what it has reserved. */
export class RoomShare {
  readonly #room: SharedRoom;
  readonly #startedAt = performance.now();
  #heldBytes = 0;
  #arrivedBytes = 0;
  #reservedBytes = 0;

  constructor(room: SharedRoom) {
    this.#room = room;
  }

  /** What the request holds, in bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /**
   * Reserves room for what is announced.
   *
   * @throws `E_OVERLOADED` if there is not enough; `E_PAYLOAD_TOO_LARGE` if there never is
   */
  reserve(bytes: number): void {
    this.#room.claim(bytes, this.#heldBytes + this.#reservedBytes + bytes);
    this.#reservedBytes += bytes;
    this.#room.reserving.add(this);
  }

  /**
   * Takes room for what has arrived, first of what is reserved.
   *
   * @throws `E_OVERLOADED`, `E_PAYLOAD_TOO_LARGE`
   */
  take(bytes: number): void {
    const reserved = Math.min(bytes, this.#reservedBytes);
    if (bytes > reserved) this.#room.claim(bytes - reserved, this.#heldBytes + this.#reservedBytes + bytes - reserved);
    this.#reservedBytes -= reserved;
    this.#heldBytes += bytes;
  }

  /** Counts what the client has sent, wherever it goes. */
  countArrived(bytes: number): void {
    this.#arrivedBytes += bytes;
  }

  /** Gives room back that is no longer needed. */
  give(bytes: number): void {
    this.#heldBytes -= bytes;
    this.#room.free(bytes);
  }

  /** Gives back what was reserved and has not been taken. */
  dropReservation(): void {
    this.#room.reserving.delete(this);
    this.#room.free(this.#reservedBytes);
    this.#reservedBytes = 0;
  }

  /** Reports whether the client sends too slowly to keep its reservation. */
  isBehind(now: number): boolean {
    return this.#arrivedBytes < (now - this.#startedAt - GRACE_MS) * MIN_BYTES_PER_MS;
  }

  /** Gives everything back. */
  release(): void {
    this.dropReservation();
    this.give(this.#heldBytes);
  }
}
