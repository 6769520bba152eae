import type { FileBytes } from "../bodies/byte-stream.ts";
import { selectedRange } from "../headers/selected-range.ts";
import type { HttpRequest } from "./request.ts";

/** The part of a file that a response sends. */
export interface FileSelection {
  readonly status: 200 | 206 | 304 | 412 | 416;
  /** The headers about the file, and about the range. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The bytes from `start` up to, but not including, `end`; `null` for a response without content. */
  readonly bytes: { readonly start: number; readonly end: number } | null;
}

/**
 * Decides which part of a file to send: everything, the requested range, or nothing if the client already has the file
 * (RFC 9110 §13, §14).
 *
 * @param ownEtag the application's own validator; default: derived from the file's size and time
 */
export function selectFromFile(request: HttpRequest, file: FileBytes, ownEtag?: string): FileSelection {
  const { length, modifiedMs } = file;
  const etag = ownEtag ?? `"${length.toString(16)}-${Math.floor(modifiedMs * 1000).toString(16)}"`;
  const headers: [string, string][] = [
    ["etag", etag],
    ["last-modified", new Date(modifiedMs).toUTCString()],
    ["accept-ranges", "bytes"],
  ];
  const read = (name: string): string | null => request.header(name);
  const selected = selectedRange(request.raw.method, read, { etag, modifiedMs, length });
  const { status } = selected;
  if (status === 206) {
    const { start, end } = selected;
    headers.push(["content-range", `bytes ${start}-${end}/${length}`]);
    return { status, headers, bytes: { start, end: end + 1 } };
  }
  if (status === 416) headers.push(["content-range", `bytes */${length}`]);
  return { status, headers, bytes: status === 200 ? { start: 0, end: length } : null };
}
