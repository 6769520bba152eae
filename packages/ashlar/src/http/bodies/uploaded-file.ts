import { AshlarError } from "../../support/index.ts";
import { type MoveOptions, writeWhole } from "./move-file.ts";

/** The longest file name that common file systems allow, in bytes of UTF-8. */
const MAX_NAME_BYTES = 255;

/** Control characters, and marks that reverse or hide text: `annexe\u202Efdp.exe` would look like a PDF. */
const INVISIBLE = /[\p{Cc}\u061C\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF]/gu;

/** Characters that have a meaning on Windows: drives, alternate streams, wildcards. */
const RESERVED = /[<>:"|?*]/g;

/** Names that Windows opens as a device, whatever their extension. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d) *(?:\.|$)/i;

function truncate(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : "";
  const room = MAX_NAME_BYTES - Buffer.byteLength(extension);
  let kept = "";
  let size = 0;
  for (const character of name) {
    size += Buffer.byteLength(character);
    if (size > room) break;
    kept += character;
  }
  return kept + extension;
}

/**
 * Makes a file name from a client safe: no folders, no control or direction marks, no characters or names that are
 * special to a file system, no leading dot, and at most 255 bytes.
 *
 * @returns an empty text if nothing is left
 */
export function sanitizeFileName(name: string): string {
  const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  const clean = trim(base.replace(INVISIBLE, "").normalize("NFC").replace(RESERVED, "_"));
  return trim(truncate(DEVICE.test(clean) ? `_${clean}` : clean));
}

/**
 * Trims dots and spaces. A leading dot hides a file, and Windows drops trailing ones, so two names would be the same
 * file.
 */
function trim(name: string): string {
  let start = 0;
  let end = name.length;
  while (start < end && isDotOrSpace(name, start)) start++;
  while (end > start && isDotOrSpace(name, end - 1)) end--;
  return name.slice(start, end);
}

function isDotOrSpace(name: string, index: number): boolean {
  return name[index] === "." || name[index]!.trim() === "";
}

/** The part of a file's name after its last dot, in lower case; empty if there isn't one. */
export function extensionOf(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot === -1 ? "" : name.slice(dot + 1).toLowerCase();
}

/** The name for a file whose own name is unusable. */
export const UNNAMED = "file";

/** A file's content on disk, which is removed after the response. */
export interface StoredContent {
  readonly path: string;
  /** The content, read from there. */
  readonly blob: Blob;
}

/**
 * A file from a multipart form. A small file is held in memory, a larger one in a temporary file that is removed after
 * the response. To keep it, call `moveTo`.
 *
 * It is a web platform `File`, with `size` in bytes, `bytes()`, `text()` and `stream()`, and passes any schema
 * library's check for files. `name` is safe to use as a file name and never empty.
 *
 * Security: `name`, `clientName`, `extension` and `type` are what the client claims. Before you trust a file to be an
 * image, inspect its bytes; before you serve it, choose its type yourself.
 */
export class UploadedFile extends File {
  /** The name from the client, sanitized; empty if it was not usable. */
  readonly clientName: string;
  readonly #path: string | null;
  #isLinked = false;

  /**
   * @param content the bytes, or where the framework has stored them
   * @param clientName the name from the client, unchanged
   * @param type the media type claimed by the client
   */
  constructor(content: Uint8Array<ArrayBuffer> | StoredContent, clientName: string, type: string) {
    const safe = sanitizeFileName(clientName);
    const isStored = !(content instanceof Uint8Array);
    super([isStored ? content.blob : content], safe === "" ? UNNAMED : safe, { type });
    this.clientName = safe;
    this.#path = isStored ? content.path : null;
  }

  /** The part after the last dot of `clientName`, in lower case; empty if there isn't one. */
  get extension(): string {
    return extensionOf(this.clientName);
  }

  /**
   * Saves the file, creating missing folders. It appears under its name once it is complete. The content of a temporary
   * file isn't copied, unless it is on another file system. The uploaded file can still be read, and saved again.
   *
   * @param target the path to write to; if it is a folder, or ends in a slash, the file is saved there under its `name`
   * @returns the path written
   * @throws `E_FILE_EXISTS` if a file already exists there and `overwrite` is not set; `E_DISK_FULL`; `E_INTERNAL` after the
   *   response
   *
   * Security: in a folder that is served, use a path you generate, not the client's name.
   */
  async moveTo(target: string, options: MoveOptions = {}): Promise<string> {
    const path = this.#path;
    if (path === null) return (await writeWhole(target, this.name, this.stream(), options)).path;
    // If one file had two names, changes to one would show in the other.
    const content = { path, mayBeLinked: !this.#isLinked };
    const moved = await writeWhole(target, this.name, content, options).catch((error: unknown) => {
      throw isGone(error, path) ? removed(error) : error;
    });
    this.#isLinked ||= moved.isLinked;
    return moved.path;
  }
}

function isGone(error: unknown, path: string): boolean {
  const { code, path: missing } = Object(error) as NodeJS.ErrnoException;
  return code === "ENOENT" && missing === path;
}

function removed(cause: unknown): AshlarError {
  const remedy = "Call moveTo(), or read the file, before you respond, and await that.";
  return new AshlarError("E_INTERNAL", `The uploaded file was removed with its response. ${remedy}`, { cause });
}
