import { AshlarError } from "../../support/index.ts";
import { tooLarge } from "./body-source.ts";

/**
 * There is always room for a body of this size, in bytes, so that logins and clicks work while others upload. A
 * connection costs the process about as much.
 */
export const ALWAYS_ROOM_BYTES = 65_536;

/**
 * The room that the bodies of all requests share. An announced body has to fit before any of it is read, so that one
 * that doesn't is refused at once, and not halfway through. After that, as much room as the request already holds is
 * reserved for data that is still to come.
 *
 * Security: an announcement costs a client nothing, so by itself it takes no more than {@link ALWAYS_ROOM_BYTES} away
 * from others.
 */
export class BodyRoom {
  readonly #maxBytes: number;
  readonly #setting: string;
  #usedBytes = 0;

  /** @param setting the name of the setting with the maximum, for the log */
  constructor(maxBytes: number, setting: string) {
    this.#maxBytes = maxBytes;
    this.#setting = setting;
  }

  /** The room that is held and reserved, in bytes. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** A share of the room, for one request. */
  share(): RoomShare {
    const extend = (bytes: number): boolean => {
      const isThere = this.#usedBytes + bytes <= this.#maxBytes;
      if (isThere) this.#usedBytes += bytes;
      return isThere;
    };
    const free = (bytes: number): void => {
      this.#usedBytes -= bytes;
    };
    return new RoomShare({ claim: this.#claim, extend, free });
  }

  readonly #claim: SharedRoom["claim"] = (bytes, { total, needed = bytes }) => {
    if (total > this.#maxBytes) throw tooLarge(this.#maxBytes);
    if (total > ALWAYS_ROOM_BYTES && this.#usedBytes + needed > this.#maxBytes) throw this.#full();
    this.#usedBytes += bytes;
  };

  #full(): AshlarError {
    const problem = `The bodies of all requests together would need more than APP.limits.${this.#setting}: ${this.#maxBytes} bytes.`;
    return new AshlarError("E_OVERLOADED", problem, { headers: { "retry-after": "5", connection: "close" } });
  }
}

/** Details of a request for room, in bytes. */
interface Needs {
  /** The total that the request then has. */
  readonly total: number;
  /** The amount that must fit; default: the requested amount. */
  readonly needed?: number;
}

interface SharedRoom {
  /** Takes room. @throws `E_OVERLOADED`, `E_PAYLOAD_TOO_LARGE` */
  readonly claim: (bytes: number, needs: Needs) => void;
  /** Takes room if there is enough, and reports whether. */
  readonly extend: (bytes: number) => boolean;
  readonly free: (bytes: number) => void;
}

/** One request's share of a {@link BodyRoom}: the room that it holds, and the room that it has reserved. */
export class RoomShare {
  readonly #room: SharedRoom;
  #heldBytes = 0;
  #announcedBytes = 0;
  #reservedBytes = 0;

  constructor(room: SharedRoom) {
    this.#room = room;
  }

  /** The room that the request holds, in bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /**
   * Reserves room for an announced body, up to the limit for announcements.
   *
   * @throws `E_OVERLOADED` if there is not enough for all of it; `E_PAYLOAD_TOO_LARGE` if there never is
   */
  reserve(bytes: number): void {
    const first = Math.min(bytes, ALWAYS_ROOM_BYTES);
    this.#room.claim(first, { total: this.#heldBytes + bytes, needed: bytes });
    this.#announcedBytes = bytes;
    this.#reservedBytes = first;
  }

  /**
   * Takes room for data that has arrived, first from the reserved room, and reserves as much for data that is still to
   * come, if there is room.
   *
   * @throws `E_OVERLOADED`, `E_PAYLOAD_TOO_LARGE`
   */
  take(bytes: number): void {
    const reserved = Math.min(bytes, this.#reservedBytes);
    const more = bytes - reserved;
    if (more > 0) this.#room.claim(more, { total: this.#heldBytes + this.#reservedBytes + more });
    this.#reservedBytes -= reserved;
    this.#heldBytes += bytes;
    const ahead = Math.min(this.#announcedBytes - this.#heldBytes, this.#heldBytes) - this.#reservedBytes;
    if (ahead > 0 && this.#room.extend(ahead)) this.#reservedBytes += ahead;
  }

  /** Gives back room that is no longer needed. */
  give(bytes: number): void {
    this.#heldBytes -= bytes;
    this.#room.free(bytes);
  }

  /** Gives back room that was reserved but not taken. */
  dropReservation(): void {
    this.#room.free(this.#reservedBytes);
    this.#reservedBytes = 0;
    this.#announcedBytes = 0;
  }

  /** Gives everything back. */
  release(): void {
    this.dropReservation();
    this.give(this.#heldBytes);
  }
}
