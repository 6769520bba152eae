import { isPlainObject } from "../../support/index.ts";
import type { FormEntry } from "./form-filling.ts";

/**
 * The data of a form: text, numbers, booleans, dates and files, lists and objects of these (`{ tags: ["a"] }` is
 * `tags[0]=a`), or a `FormData`. `undefined` is omitted, `null` is sent as empty text.
 */
export type FormFields = URLSearchParams | FormData | object;

/** Returns the body of a form: multipart if it contains a file. */
export function formBody(data: FormFields): URLSearchParams | FormData {
  if (data instanceof URLSearchParams || data instanceof FormData) return data;
  const entries = [...entriesOf(data)];
  return entriesBody(
    entries,
    entries.some(([, value]) => typeof value !== "string"),
  );
}

/** Returns the body of a form with these fields. Without multipart, only a file's name is sent. */
export function entriesBody(entries: readonly FormEntry[], isMultipart: boolean): URLSearchParams | FormData {
  if (!isMultipart) return new URLSearchParams(entries.map(([name, value]) => [name, textOf(value)]));
  const form = new FormData();
  for (const [name, value] of entries) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, value);
  }
  return form;
}

function textOf(value: string | Blob): string {
  if (typeof value === "string") return value;
  return value instanceof File ? value.name : "blob";
}

function* entriesOf(data: object): Generator<FormEntry> {
  for (const [name, value] of Object.entries(data)) yield* entriesUnder(name, value);
}

function* entriesUnder(name: string, value: unknown): Generator<FormEntry> {
  if (value === undefined) return;
  if (Array.isArray(value) || isPlainObject(value)) {
    for (const [key, member] of Object.entries(value)) yield* entriesUnder(`${name}[${key}]`, member);
  } else if (value instanceof Blob) {
    yield [name, value];
  } else {
    yield [name, value === null ? "" : value instanceof Date ? value.toISOString() : String(value)];
  }
}
