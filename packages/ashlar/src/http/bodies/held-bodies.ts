import { openAsBlob } from "node:fs";
import { rm } from "node:fs/promises";
import { AshlarError, RUNTIME } from "../../support/index.ts";
import type { BodyLimits } from "./body.ts";
import { CollectedBytes, tooLarge } from "./body-source.ts";
import { asDiskFull } from "./move-file.ts";
import { UploadFolder } from "./upload-folder.ts";
import type { StoredContent } from "./uploaded-file.ts";

/**
 * There is always room for a body of this size, in bytes, so that logins and small forms work while others upload. A
 * connection costs the process about as much.
 */
export const ALWAYS_ROOM_BYTES = 65_536;

/**
 * The room that the bodies of all requests share. An announced body has to fit before any of it is read, so that a body
 * that doesn't fit is refused at once rather than halfway through. After that, as much room as the request already
 * holds is reserved for data that is still to come.
 *
 * Security: announcing a body costs a client nothing, so an announcement alone takes no more than
 * {@link ALWAYS_ROOM_BYTES} away from others.
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
  /** The total that the request would then hold. */
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
   * Reserves room for an announced body, up to {@link ALWAYS_ROOM_BYTES}.
   *
   * @throws `E_OVERLOADED` if there isn't enough room for all of it; `E_PAYLOAD_TOO_LARGE` if there never would be
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

/** Deno reads a file into memory when it becomes a `Blob`, so writing it to disk would gain nothing. */
const USES_DISK = RUNTIME !== "deno";

/** The bodies, in memory and on disk, of the requests that an application is handling. */
export class HeldBodies {
  readonly folder: UploadFolder;
  readonly #memory: BodyRoom;
  readonly #disk: BodyRoom;
  readonly #maxFormMemoryBytes: number;

  /** @param folder the folder for uploads; default: the system's folder for temporary files */
  constructor(limits: BodyLimits, folder: string | null = null) {
    this.folder = new UploadFolder(folder);
    this.#memory = new BodyRoom(limits.maxMemoryBytes, "maxMemoryBytes");
    this.#disk = new BodyRoom(limits.maxDiskBytes, "maxDiskBytes");
    this.#maxFormMemoryBytes = USES_DISK ? limits.maxFormMemoryBytes : Number.POSITIVE_INFINITY;
  }

  /** The room that is held and reserved, in bytes. */
  get usage(): { readonly memoryBytes: number; readonly diskBytes: number } {
    return { memoryBytes: this.#memory.usedBytes, diskBytes: this.#disk.usedBytes };
  }

  /** Starts holding a request's body. */
  begin(): HeldBody {
    return new HeldBody(this.#memory.share(), this.#disk.share(), this.folder, this.#maxFormMemoryBytes);
  }

  /** Removes all files. Never rejects. */
  close(): Promise<void> {
    return this.folder.close();
  }
}

/** The held parts of one request's body. */
export class HeldBody {
  readonly #memory: RoomShare;
  readonly #disk: RoomShare;
  readonly #folder: UploadFolder;
  readonly #paths: string[] = [];
  #formMemoryLeft: number;
  #isReleased = false;

  constructor(memory: RoomShare, disk: RoomShare, folder: UploadFolder, maxFormMemoryBytes: number) {
    this.#memory = memory;
    this.#disk = disk;
    this.#folder = folder;
    this.#formMemoryLeft = maxFormMemoryBytes;
  }

  /** Whether part of the body is on disk. */
  get hasFiles(): boolean {
    return this.#paths.length > 0;
  }

  /**
   * Reserves room for a body of an announced length.
   *
   * @param isForm whether parts that are too large for memory go to the disk
   * @throws `E_OVERLOADED`, `E_PAYLOAD_TOO_LARGE`
   */
  reserve(bytes: number, isForm: boolean): void {
    const share = isForm && bytes > this.#formMemoryLeft ? this.#disk : this.#memory;
    share.reserve(bytes);
  }

  /** Takes room in memory. @throws `E_OVERLOADED`, `E_PAYLOAD_TOO_LARGE` */
  takeMemory(bytes: number): void {
    this.#memory.take(bytes);
  }

  giveMemory(bytes: number): void {
    this.#memory.give(bytes);
  }

  /** Gives back the room for announced data that never arrived, because the body is complete. */
  complete(): void {
    this.#memory.dropReservation();
    this.#disk.dropReservation();
  }

  /**
   * Keeps a form's file in memory, or on disk once the form's files exceed their memory.
   *
   * @throws `E_OVERLOADED`, `E_PAYLOAD_TOO_LARGE`, `E_DISK_FULL`, and errors of reading
   */
  async keepFile(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer> | StoredContent> {
    const kept = new CollectedBytes();
    const rest = pieces[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await rest.next();
      if (done) break;
      kept.add(value);
      if (kept.size > this.#formMemoryLeft) {
        this.#memory.give(kept.size - value.length);
        return this.#write(kept.bytes, { [Symbol.asyncIterator]: () => rest });
      }
      this.#memory.take(value.length);
    }
    this.#formMemoryLeft -= kept.size;
    return kept.bytes;
  }

  async #write(first: Uint8Array, rest: AsyncIterable<Uint8Array>): Promise<StoredContent> {
    try {
      const { path, handle } = await this.#folder.create();
      this.#paths.push(path);
      try {
        this.#disk.take(first.length);
        await handle.writeFile(first);
        for await (const piece of rest) {
          this.#disk.take(piece.length);
          await handle.writeFile(piece);
        }
      } finally {
        await handle.close();
      }
      return { path, blob: await openAsBlob(path) };
    } catch (error) {
      throw asDiskFull(error);
    }
  }

  /** Removes its files, and gives back its room. Never rejects. */
  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#memory.release();
    await Promise.all(this.#paths.map((path) => rm(path, { force: true }).catch(ignore)));
    this.#disk.release();
  }
}

function ignore(): void {}
