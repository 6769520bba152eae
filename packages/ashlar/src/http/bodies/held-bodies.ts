import { openAsBlob } from "node:fs";
import { rm } from "node:fs/promises";
import { RUNTIME } from "../../support/index.ts";
import type { BodyLimits } from "./body.ts";
import { BodyRoom, type RoomShare } from "./body-room.ts";
import { CollectedBytes } from "./collected-bytes.ts";
import { asDiskFull } from "./move-file.ts";
import { UploadFolder } from "./upload-folder.ts";
import type { StoredContent } from "./uploaded-file.ts";

/** Deno reads a file into memory when it becomes a `Blob`, so writing it to the disk would gain nothing. */
const USES_DISK = RUNTIME !== "deno";

/** An application's bodies, in memory and on disk, of the requests that are being handled. */
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

  /** Begins to hold the body of a request. */
  begin(): HeldBody {
    return new HeldBody(this.#memory.share(), this.#disk.share(), this.folder, this.#maxFormMemoryBytes);
  }

  /** Removes all files. It never rejects. */
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

  /** Whether part of it is on disk. */
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

  /** Gives back the room for announced data that never arrived: the body is complete. */
  complete(): void {
    this.#memory.dropReservation();
    this.#disk.dropReservation();
  }

  /**
   * Keeps a file of a form: in memory, or on disk from the point where the form's files exceed their memory.
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

  /** Removes its files, and gives its room back. It never rejects. */
  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#memory.release();
    await Promise.all(this.#paths.map((path) => rm(path, { force: true }).catch(ignore)));
    this.#disk.release();
  }
}

function ignore(): void {}
