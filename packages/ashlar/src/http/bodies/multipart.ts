import { AshlarError } from "../../support/index.ts";
import { message } from "../messages.ts";
import type { BodyLimits } from "./body.ts";
import type { BodySource } from "./body-source.ts";
import { FormPart } from "./form-part.ts";
import type { HeldBody } from "./held-bodies.ts";
import { type ArrivingPart, MultipartReader, malformed } from "./multipart-reader.ts";
import { UploadedFile } from "./uploaded-file.ts";
import "../errors.ts";

/** The text fields of a form, each with its name, in order. */
export type Fields = readonly (readonly [name: string, value: string])[];

/** The fields and files of a multipart form, each with the name of its part, in order. */
export interface MultipartForm {
  readonly fields: Fields;
  readonly files: readonly (readonly [name: string, file: UploadedFile])[];
}

/**
 * The parts of a multipart form while it arrives, within limits. A file input left empty by the visitor, which browsers send
 * with an empty name and no content, is omitted.
 */
export class FormParts {
  readonly #reader: MultipartReader;
  readonly #limits: BodyLimits;
  readonly #partLimits: { readonly maxMemoryBytes: number; readonly countField: (bytes: number) => void };
  #fieldsLeft: number;
  #filesLeft: number;
  #fieldBytesLeft: number;
  #current: FormPart | null = null;
  #pushedBack: FormPart | null = null;

  /**
   * @param contentType the request's `Content-Type`, which contains the boundary
   * @param held receives the text fields
   * @throws `E_INVALID_BODY` if there is no valid boundary
   */
  constructor(source: BodySource, contentType: string, limits: BodyLimits, held: HeldBody) {
    this.#reader = new MultipartReader(source, contentType, limits.maxFields + limits.maxFiles);
    this.#limits = limits;
    this.#fieldsLeft = limits.maxFields;
    this.#filesLeft = limits.maxFiles;
    this.#fieldBytesLeft = limits.maxBodyBytes;
    this.#partLimits = {
      maxMemoryBytes: limits.maxBodyBytes,
      countField: (bytes) => {
        this.#fieldBytesLeft -= bytes;
        if (this.#fieldBytesLeft < 0) throw new AshlarError("E_PAYLOAD_TOO_LARGE", message("body.fieldsTooLarge"));
        held.takeMemory(bytes);
      },
    };
  }

  /**
   * Returns the next part; `null` at the end of the form.
   *
   * @throws `E_INVALID_BODY` if the form is malformed, cut off, or has too many fields or files; and errors of reading
   */
  async next(): Promise<FormPart | null> {
    const first = this.#pushedBack;
    this.#pushedBack = null;
    if (first !== null) return first;
    this.#current?.end();
    for (let part = await this.#reader.next(); part !== null; part = await this.#reader.next()) {
      const selected = part.fileName === "" ? await unlessEmpty(part) : part;
      if (selected === null) continue;
      this.#count(selected.fileName !== undefined);
      this.#current = new FormPart(selected, this.#partLimits);
      return this.#current;
    }
    return null;
  }

  /** Makes the last returned part the next one again. It must not have been read. */
  pushBack(part: FormPart): void {
    this.#pushedBack = part;
  }

  /** Stops reading. */
  close(): void {
    this.#reader.close();
  }

  #count(isFile: boolean): void {
    const { maxFields, maxFiles } = this.#limits;
    if (isFile) {
      if (this.#filesLeft === 0) throw malformed(message("body.multipart.files", { max: maxFiles }));
      this.#filesLeft--;
    } else {
      if (this.#fieldsLeft === 0) throw malformed(message("form.fields", { max: maxFields }));
      this.#fieldsLeft--;
    }
  }
}

async function unlessEmpty(part: ArrivingPart): Promise<ArrivingPart | null> {
  let first = await part.read();
  if (first === null) return null;
  const read = async (): Promise<Uint8Array | null> => {
    const piece = first ?? (await part.read());
    first = null;
    return piece;
  };
  return { ...part, read };
}

/**
 * Reads a form to its end, with its files in memory or on disk.
 *
 * @throws errors of reading; `E_OVERLOADED` or `E_DISK_FULL` if there is no room for its files
 */
export async function readForm(parts: FormParts, held: HeldBody): Promise<MultipartForm> {
  const fields: [string, string][] = [];
  const files: [string, UploadedFile][] = [];
  for (let part = await parts.next(); part !== null; part = await parts.next()) {
    if (part.isFile) files.push([part.field, await storedFile(part, held)]);
    else fields.push([part.field, await part.text()]);
  }
  return { fields, files };
}

/**
 * Reads the text fields of a form up to its first file, which is then the next part.
 *
 * @throws errors of reading
 */
export async function readLeadingFields(parts: FormParts): Promise<Fields> {
  const fields: [string, string][] = [];
  for (let part = await parts.next(); part !== null; part = await parts.next()) {
    if (part.isFile) {
      parts.pushBack(part);
      break;
    }
    fields.push([part.field, await part.text()]);
  }
  return fields;
}

async function storedFile(part: FormPart, held: HeldBody): Promise<UploadedFile> {
  const content = await held.keepFile(part.pieces());
  return new UploadedFile(content, part.clientName, part.type);
}
