import type { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { AshlarError, type Message } from "../../support/index.ts";
import { decodeBodyText, headerParameters, mediaType } from "../headers/media-types.ts";
import { message } from "../messages.ts";
import type { BodySource } from "./body-source.ts";
import "../errors.ts";

/** Limits for one part's headers, in bytes and in number. Anything beyond them is cut off. */
const PART_LIMITS = { maxHeaderSize: 8192, maxHeaderPairs: 32 };

/** RFC 2046 §5.1.1. */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/;

type Headers = Readonly<Record<string, readonly string[]>>;

/** A part of a form while its content arrives. */
export interface ArrivingPart {
  /** The name of its field. */
  readonly field: string;
  /** `undefined` for a text field. */
  readonly fileName: string | undefined;
  /** The media type claimed by the client; empty if there isn't one. */
  readonly type: string;
  /** Returns the next piece of its content; `null` at the end. */
  read(): Promise<Uint8Array | null>;
}

/**
 * Reads the parts of a multipart form (RFC 7578) one after the other, while they arrive. Takes data from its source
 * only as it is read, plus a few buffers.
 */
export class MultipartReader {
  readonly #source: BodySource;
  readonly #boundary: string;
  readonly #maxParts: number;
  readonly #arrived: Part[] = [];
  #current: Part | null = null;
  #isPumping = false;
  #isComplete = false;
  #isAtEnd = false;
  #error: unknown = null;
  #wake: (() => void) | null = null;

  /**
   * @param contentType the request's `Content-Type`, which contains the boundary
   * @param maxParts the maximum number of parts
   * @throws `E_INVALID_BODY` if there is no valid boundary
   */
  constructor(source: BodySource, contentType: string, maxParts: number) {
    const boundary = headerParameters(contentType)?.get("boundary");
    if (boundary === undefined || !BOUNDARY.test(boundary)) throw malformed(message("body.multipart.boundary"));
    this.#source = source;
    this.#boundary = boundary;
    this.#maxParts = maxParts;
  }

  /**
   * Returns the next part, and skips the unread rest of the previous one; `null` at the end of the body.
   *
   * @throws `E_INVALID_BODY` if the form is malformed, cut off, or has too many parts; and errors of reading
   */
  async next(): Promise<ArrivingPart | null> {
    if (!this.#isPumping) {
      this.#isPumping = true;
      this.#pump().catch((error: unknown) => this.#fail(error));
    }
    while (this.#current !== null && (await this.#current.read()) !== null);
    this.#current = null;
    // The previous part may have been the last one.
    this.#changed();
    const part = await this.#until(() => {
      // Checked at once, because data that the parser hasn't handed over yet may show that nothing is left.
      this.#current = this.#arrived.shift() ?? null;
      return this.#current ?? (this.#isAtEnd ? null : undefined);
    });
    return part === null ? null : part.opened();
  }

  /** Stops reading. */
  close(): void {
    this.#source.close();
  }

  async #pump(): Promise<void> {
    // Loaded with the first multipart form, because most processes never see one.
    const { Dicer } = await import("@fastify/busboy");
    const dicer = new Dicer({ boundary: this.#boundary, ...PART_LIMITS });
    let count = 0;
    dicer.on("part", (stream) => {
      if (count === this.#maxParts) {
        this.#fail(malformed(message("body.multipart.parts", { max: this.#maxParts })));
        // Thrown through the parser, which is on the stack, so that a million empty parts don't become a million
        // streams.
        throw this.#error;
      }
      count++;
      this.#arrived.push(new Part(stream as unknown as Readable, this.#until, this.#changed, this.#broken));
      this.#changed();
    });
    dicer.on("error", this.#broken);
    dicer.on("finish", () => {
      this.#isComplete = true;
      this.#changed();
    });
    for (let chunk = await this.#source.read(); chunk !== null; chunk = await this.#source.read()) {
      // Data after the last boundary is read and ignored.
      if (this.#isComplete) continue;
      let isTaken = false;
      try {
        dicer.write(chunk, () => {
          isTaken = true;
          this.#changed();
        });
      } catch (error) {
        throw error instanceof AshlarError ? error : malformed(message("body.multipart.headers"));
      }
      // After the last boundary, the parser doesn't report that it has consumed a chunk.
      await this.#until(() => (isTaken || this.#isComplete ? true : undefined));
    }
    dicer.end();
    // The parser ends with its last part. A turn of the event loop later, it has either finished or never will.
    await this.#until(() => (this.#arrived.length === 0 && this.#current?.isAtEnd !== false ? true : undefined));
    await setImmediate();
    if (!this.#isComplete) throw malformed(message("body.multipart.malformed"));
    this.#isAtEnd = true;
    this.#changed();
  }

  readonly #broken = (): void => this.#fail(malformed(message("body.multipart.malformed")));

  #fail(error: unknown): void {
    this.#error ??= error;
    this.#changed();
  }

  readonly #changed = (): void => this.#wake?.();

  /** Waits until there is something to return. Errors take precedence. */
  readonly #until = async <T>(find: () => T | undefined): Promise<T> => {
    for (;;) {
      if (this.#error !== null) throw this.#error;
      const found = find();
      if (found !== undefined) return found;
      const { promise, resolve } = Promise.withResolvers<void>();
      const others = this.#wake;
      this.#wake = () => {
        this.#wake = null;
        others?.();
        resolve();
      };
      await promise;
    }
  };
}

type Until = <T>(find: () => T | undefined) => Promise<T>;

class Part {
  readonly #stream: Readable;
  readonly #until: Until;
  /** The headers, in which each character is one byte. */
  #headers: Headers | null = null;
  #ended = false;

  constructor(stream: Readable, until: Until, changed: () => void, broken: () => void) {
    this.#stream = stream;
    this.#until = until;
    stream.on("header" as "data", (headers: Headers) => {
      this.#headers = headers;
      changed();
    });
    stream.on("readable", changed);
    stream.on("end", () => {
      this.#ended = true;
      changed();
    });
    stream.on("error", broken);
  }

  get isAtEnd(): boolean {
    return this.#ended;
  }

  read(): Promise<Uint8Array | null> {
    return this.#until(() => {
      const piece: Uint8Array | null = this.#stream.read();
      return piece ?? (this.#ended ? null : undefined);
    });
  }

  async opened(): Promise<ArrivingPart> {
    // A part with malformed headers ends without them.
    await this.#until(() => (this.#headers !== null || this.#endsNow() ? true : undefined));
    const { name, fileName } = disposition(this.#headers);
    const type = mediaType(header(this.#headers, "content-type") ?? "");
    return { field: name, fileName, type, read: () => this.read() };
  }

  /** Whether the part ends now. A stream without content ends only if it is read. */
  #endsNow(): boolean {
    if (!this.#ended) this.#stream.read(0);
    return this.#ended;
  }
}

export function malformed(detail: Message): AshlarError {
  return new AshlarError("E_INVALID_BODY", detail);
}

/** Returns a part's header as UTF-8; `null` if it is missing. */
function header(headers: Headers | null, name: "content-disposition" | "content-type"): string | null {
  const values = headers?.[name];
  if (values === undefined) return null;
  if (values.length > 1) throw malformed(message("body.multipart.repeatedHeader"));
  return decodeBodyText(Buffer.from(values[0]!, "latin1"));
}

function disposition(headers: Headers | null): { readonly name: string; readonly fileName: string | undefined } {
  const value = header(headers, "content-disposition");
  const parameters = value !== null && mediaType(value) === "form-data" ? headerParameters(value) : null;
  const name = parameters?.get("name");
  if (parameters === null || name === undefined) throw malformed(message("body.multipart.disposition"));
  const fileName = parameters.get("filename");
  if (fileName !== undefined) return { name: unescapeName(name), fileName: unescapeName(fileName) };
  const extended = parameters.get("filename*");
  return { name: unescapeName(name), fileName: extended === undefined ? undefined : extendedValue(extended) };
}

/**
 * Decodes an extended value such as `UTF-8''a%20name` (RFC 8187 §3.2). RFC 7578 §4.2 forbids it, but some clients send
 * it for file names.
 */
function extendedValue(value: string): string {
  const [, text] = /^utf-8'[\w-]*'([\w!#$&+.^`|~%-]*)$/i.exec(value) ?? [];
  try {
    if (text !== undefined) return decodeURIComponent(text);
  } catch {
    // Reported below.
  }
  throw malformed(message("body.multipart.fileName"));
}

/**
 * Decodes quotes and line breaks, the only characters that browsers percent-encode in names (HTML's form-data
 * encoding).
 */
function unescapeName(name: string): string {
  return name.replace(/%(?:22|0D|0A)/gi, (sequence) => decodeURIComponent(sequence));
}
