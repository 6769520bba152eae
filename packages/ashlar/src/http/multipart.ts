import { setImmediate } from "node:timers/promises";
import { AshlarError, type Message } from "../support/index.ts";
import type { BodyLimits } from "./body.ts";
import { decodeBodyText, headerParameters, mediaType } from "./body-text.ts";
import { message } from "./messages.ts";
import { UploadedFile } from "./uploaded-file.ts";
import "./errors.ts";

/** Limits of one part's headers, in bytes and in number; the rest is cut off. */
const PART_LIMITS = { maxHeaderSize: 8192, maxHeaderPairs: 32 };

/** RFC 2046 §5.1.1. */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/;

/** The fields and files of a multipart form, each with the name of its part, in order. */
export interface MultipartForm {
  readonly fields: readonly [name: string, value: string][];
  readonly files: readonly [name: string, file: UploadedFile][];
}

/** One part while it is parsed: its headers (each character one byte) and its content. */
interface Part {
  headers: Readonly<Record<string, readonly string[]>> | null;
  readonly chunks: Uint8Array[];
}

/**
 * Parses a multipart form (RFC 7578) that is completely in memory. A file input left empty by the visitor, which browsers
 * send with an empty name and no content, is omitted.
 *
 * @param contentType the request's `Content-Type`, which contains the boundary
 * @throws `E_INVALID_BODY` if the form is malformed, cut off, or has too many fields or files;
 *   `E_PAYLOAD_TOO_LARGE` if its fields together are larger than `maxBodyBytes`
 */
export async function parseMultipart(
  bytes: Uint8Array,
  contentType: string,
  limits: BodyLimits,
): Promise<MultipartForm> {
  const boundary = headerParameters(contentType)?.get("boundary");
  if (boundary === undefined || !BOUNDARY.test(boundary)) throw malformed(message("body.multipart.boundary"));
  const fields: [string, string][] = [];
  const files: [string, UploadedFile][] = [];
  let room = limits.maxBodyBytes;
  for (const part of await split(bytes, boundary, limits.maxFields + limits.maxFiles)) {
    const { name, fileName } = disposition(part);
    const content = Buffer.concat(part.chunks);
    if (fileName === undefined) {
      if (fields.length === limits.maxFields) throw malformed(message("form.fields", { max: limits.maxFields }));
      room -= content.length;
      if (room < 0) throw new AshlarError("E_PAYLOAD_TOO_LARGE", message("body.fieldsTooLarge"));
      fields.push([name, decodeBodyText(content)]);
    } else if (fileName !== "" || content.length > 0) {
      if (files.length === limits.maxFiles) throw malformed(message("body.multipart.files", { max: limits.maxFiles }));
      files.push([name, new UploadedFile(content, fileName, mediaType(header(part, "content-type") ?? ""))]);
    }
  }
  return { fields, files };
}

function malformed(detail: Message): AshlarError {
  return new AshlarError("E_INVALID_BODY", detail);
}

async function split(bytes: Uint8Array, boundary: string, maxParts: number): Promise<readonly Part[]> {
  const parts: Part[] = [];
  let complete = false;
  let broken = false;
  // Loaded with the first multipart form: most processes never see one.
  const { Dicer } = await import("@fastify/busboy");
  const dicer = new Dicer({ boundary, ...PART_LIMITS });
  dicer.on("part", (stream) => {
    // Thrown through the parser, which is on the stack: a million empty parts must not become a million streams.
    if (parts.length === maxParts) throw malformed(message("body.multipart.parts", { max: maxParts }));
    const part: Part = { headers: null, chunks: [] };
    parts.push(part);
    stream.on("header", (headers) => {
      part.headers = headers as Record<string, string[]>;
    });
    stream.on("data", (chunk: Uint8Array) => part.chunks.push(chunk));
    stream.on("error", () => {
      broken = true;
    });
  });
  dicer.on("error", () => {
    broken = true;
  });
  dicer.on("finish", () => {
    complete = true;
  });
  try {
    dicer.write(bytes);
    dicer.end();
  } catch (error) {
    throw error instanceof AshlarError ? error : malformed(message("body.multipart.headers"));
  }
  // All bytes were there, so by the next turn of the event loop the parser has either finished or never will.
  await setImmediate();
  if (broken || !complete) throw malformed(message("body.multipart.malformed"));
  return parts;
}

/** Returns a part's header as UTF-8; `null` if it is missing. */
function header(part: Part, name: "content-disposition" | "content-type"): string | null {
  const values = part.headers?.[name];
  if (values === undefined) return null;
  if (values.length > 1) throw malformed(message("body.multipart.repeatedHeader"));
  return decodeBodyText(Buffer.from(values[0]!, "latin1"));
}

function disposition(part: Part): { readonly name: string; readonly fileName: string | undefined } {
  const value = header(part, "content-disposition");
  const parameters = value !== null && mediaType(value) === "form-data" ? headerParameters(value) : null;
  const name = parameters?.get("name");
  if (parameters === null || name === undefined) throw malformed(message("body.multipart.disposition"));
  const fileName = parameters.get("filename");
  if (fileName !== undefined) return { name: unescapeName(name), fileName: unescapeName(fileName) };
  const extended = parameters.get("filename*");
  return { name: unescapeName(name), fileName: extended === undefined ? undefined : extendedValue(extended) };
}

/** RFC 8187 §3.2: `UTF-8''a%20name`. RFC 7578 §4.2 tells clients not to send it; some do, and mean a file. */
function extendedValue(value: string): string {
  const [, text] = /^utf-8'[\w-]*'([\w!#$&+.^`|~%-]*)$/i.exec(value) ?? [];
  try {
    if (text !== undefined) return decodeURIComponent(text);
  } catch {
    // Reported below.
  }
  throw malformed(message("body.multipart.fileName"));
}

/** Browsers percent-encode only quotes and line breaks in names (the form-data encoding of HTML). */
function unescapeName(name: string): string {
  return name.replace(/%(?:22|0D|0A)/gi, (sequence) => decodeURIComponent(sequence));
}
