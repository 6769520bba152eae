import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AshlarError } from "../support/index.ts";
import "./errors.ts";

/** The longest file name that common file systems allow, in bytes of UTF-8. */
const MAX_NAME_BYTES = 255;

/** Control characters, and the marks that reverse or hide text: `annexe\u202Efdp.exe` would read as a PDF. */
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
 * Makes a file name from a client harmless: no folders, no control or direction marks, no characters or names with a
 * meaning to a file system, no leading dot, at most 255 bytes.
 *
 * @returns an empty text if nothing is left
 */
export function sanitizeFileName(name: string): string {
  const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  const clean = trim(base.replace(INVISIBLE, "").normalize("NFC").replace(RESERVED, "_"));
  return trim(truncate(DEVICE.test(clean) ? `_${clean}` : clean));
}

/** A leading dot hides a file; Windows drops trailing dots and spaces, so that two names would be one file. */
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

/** How {@link UploadedFile.moveTo} treats an existing file. */
export interface MoveOptions {
  /** Whether to replace a file of the same name; otherwise it is an error. */
  readonly overwrite?: boolean;
}

/**
 * A file from a multipart form, held in memory.
 *
 * It is a `File` of the web platform: `size` in bytes, `bytes()`, `text()`, `stream()`, and any schema library's check
 * for files accepts it. `name` is safe to use as a file name and never empty.
 *
 * Security: `name`, `clientName`, `extension` and `type` are what the client claims. Before you trust a file to be an
 * image, inspect its bytes; before you serve it, choose its type yourself.
 */
export class UploadedFile extends File {
  /** The name from the client, sanitized; empty if it was not usable. */
  readonly clientName: string;

  /**
   * @param bytes the content
   * @param clientName the name from the client, unchanged
   * @param type the media type claimed by the client
   */
  constructor(bytes: Uint8Array<ArrayBuffer>, clientName: string, type: string) {
    const safe = sanitizeFileName(clientName);
    super([bytes], safe === "" ? "file" : safe, { type });
    this.clientName = safe;
  }

  /** The part after the last dot of `clientName`, in lower case; empty if there is none. */
  get extension(): string {
    const dot = this.clientName.lastIndexOf(".");
    return dot === -1 ? "" : this.clientName.slice(dot + 1).toLowerCase();
  }

  /**
   * Writes the file to disk, creating missing folders.
   *
   * @param target the path to write to; if it is a folder, or ends in a slash, the file is saved there under its `name`
   * @returns the path written
   * @throws `E_FILE_EXISTS` if a file already exists there and `overwrite` is not set
   *
   * Security: in a folder that is served, use a path you generate, not the client's name.
   */
  async moveTo(target: string, options: MoveOptions = {}): Promise<string> {
    const path = (await isFolder(target)) ? join(target, this.name) : target;
    await mkdir(dirname(path), { recursive: true });
    try {
      await writeFile(path, await this.bytes(), { flag: options.overwrite === true ? "w" : "wx" });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      throw new AshlarError(
        "E_FILE_EXISTS",
        `A file already exists at "${path}". Pass { overwrite: true } to replace it.`,
      );
    }
    return path;
  }
}

async function isFolder(target: string): Promise<boolean> {
  if (target.endsWith("/") || target.endsWith("\\")) return true;
  const found = await stat(target).catch(() => null);
  return found?.isDirectory() === true;
}
