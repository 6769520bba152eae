import { AshlarError } from "../../support/index.ts";
import { decodeBodyText } from "../headers/media-types.ts";
import { CollectedBytes, tooLarge } from "./body-source.ts";
import { byteStream } from "./byte-stream.ts";
import { type MoveOptions, writeWhole } from "./move-file.ts";
import type { ArrivingPart } from "./multipart-reader.ts";
import { extensionOf, sanitizeFileName, UNNAMED } from "./uploaded-file.ts";

/** The limits of a part's content. */
export interface PartLimits {
  /** How many bytes of a file `text()` and `bytes()` may read into memory. */
  readonly maxMemoryBytes: number;
  /** Counts the bytes of text fields. */
  readonly countField: (bytes: number) => void;
}

/**
 * A part of a form, as `request.parts()` yields it: a file or a text field whose content is still arriving. It can be
 * read once, before the next part is requested.
 *
 * Security: `name`, `clientName`, `extension` and `type` are what the client claims, as in an `UploadedFile`. There is
 * no `size`, because the form may still be refused, or end, after the first bytes.
 */
export class FormPart {
  /** The name of the form's field, as sent: `photos[]`. */
  readonly field: string;
  /** Whether it is a file; otherwise it is a text field. */
  readonly isFile: boolean;
  /** The file's name from the client, sanitized; empty if it was not usable. */
  readonly clientName: string;
  /** The media type claimed by the client. */
  readonly type: string;
  readonly #part: ArrivingPart;
  readonly #limits: PartLimits;
  #isTaken = false;
  #isOver = false;

  /** @internal */
  constructor(part: ArrivingPart, limits: PartLimits) {
    this.field = part.field;
    this.isFile = part.fileName !== undefined;
    this.clientName = sanitizeFileName(part.fileName ?? "");
    this.type = part.type;
    this.#part = part;
    this.#limits = limits;
  }

  /** A name that is safe to use as a file name, and never empty. */
  get name(): string {
    return this.clientName === "" ? UNNAMED : this.clientName;
  }

  /** The part after the last dot of `clientName`, in lower case; empty if there isn't one. */
  get extension(): string {
    return extensionOf(this.clientName);
  }

  /**
   * The content, as it arrives. Data is taken from the client only as it is read.
   *
   * Reading it fails like `request.bodyStream()` does: with `E_PAYLOAD_TOO_LARGE` once the form is larger than the route's
   * limit, and with `E_INVALID_BODY` if the client disconnects before the end of the part.
   *
   * @throws `E_INTERNAL` if the content has been read
   */
  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const pieces = this.pieces();
    const read = async () => ((await pieces.next()).value ?? null) as Uint8Array<ArrayBuffer> | null;
    return byteStream({ read, close: () => {} }).stream;
  }

  /**
   * The content as text.
   *
   * @throws `E_PAYLOAD_TOO_LARGE` if it is larger than `APP.limits.maxBodyBytes`; `E_INVALID_BODY` if it is not UTF-8;
   * and the errors of reading {@link stream}
   */
  async text(): Promise<string> {
    return decodeBodyText(await this.bytes());
  }

  /**
   * The content in memory.
   *
   * @throws `E_PAYLOAD_TOO_LARGE` if it is larger than `APP.limits.maxBodyBytes`; and the errors of reading
   * {@link stream}
   */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const { maxMemoryBytes } = this.#limits;
    const collected = new CollectedBytes();
    for await (const piece of this.pieces()) {
      if (collected.size + piece.length > maxMemoryBytes) throw tooLarge(maxMemoryBytes);
      collected.add(piece);
    }
    return collected.bytes;
  }

  /**
   * Saves the content while it arrives, creating missing folders. The file appears under its name once it is complete;
   * until then, the content is in a hidden file next to it. If the client disconnects or the form is refused, nothing
   * is left behind.
   *
   * @param target the path to write to; if it is a folder, or ends in a slash, the file is saved there under its `name`
   * @returns the path written
   * @throws `E_FILE_EXISTS` if a file already exists there and `overwrite` is not set; `E_DISK_FULL`; and the errors of
   * reading {@link stream}
   *
   * Security: in a folder that is served, use a path you generate, not the client's name.
   */
  async moveTo(target: string, options: MoveOptions = {}): Promise<string> {
    return (await writeWhole(target, this.name, this.pieces(), options)).path;
  }

  /** @internal The content, piece by piece. */
  pieces(): AsyncGenerator<Uint8Array, void> {
    if (this.#isTaken) throw partRead();
    this.#isTaken = true;
    return this.#pieces();
  }

  async *#pieces(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      // Security: a file that is cut off must not look complete.
      if (this.#isOver) throw partRead();
      const piece = await this.#part.read();
      if (piece === null) return;
      if (!this.isFile) this.#limits.countField(piece.length);
      yield piece;
    }
  }

  /** @internal Called when the next part is requested. This part can't be read anymore. */
  end(): void {
    this.#isOver = true;
  }
}

function partRead(): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    "A part of a form can be read once, before the next one is asked for. Await that in the loop over request.parts().",
  );
}
