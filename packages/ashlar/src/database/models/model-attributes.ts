import { isDeepStrictEqual } from "node:util";
import { AshlarError, currentDate } from "../../support/index.ts";
import { ColumnValueError, columnValue, isColumnName, mayBeInput } from "../dialect/column-names.ts";
import type { Row } from "../dialect/executor.ts";
import type { Model } from "./model.ts";
import type { ModelMetadata } from "./model-metadata.ts";
import type { ModelClass } from "./model-types.ts";
import "../errors.ts";

/**
 * A model's casts, by column: `static override casts: Casts = { settings: "json" }`. A cast is the column's type in the
 * application: a `Date`, a boolean, parsed JSON, or a whole number.
 */
export type Casts = Readonly<Record<string, "datetime" | "boolean" | "json" | "integer">>;

/** A column's type in the application. */
export type Cast = Casts[string];

/**
 * Sets a model's attributes to the values of a row. In the row itself, replaces parsed JSON with its text.
 *
 * @throws `E_INVALID_QUERY` if a column has a name that an attribute can't have
 */
export function setAttributes(model: Model, { columns, casts, connection }: ModelMetadata, row: Row): void {
  const target = model as unknown as Row;
  for (const column of Object.keys(row)) {
    if (!columns.has(column)) columns.add(attributeName(model, column));
    target[column] = row[column];
  }
  for (const [column, cast] of casts) {
    const value = row[column];
    if (value === undefined || value === null) continue;
    if (cast === "json" && connection.dialect.values.parsesJson) {
      // Kept as text, because if the application changed the object in place, there would be nothing to compare it
      // with.
      row[column] = jsonText(column, value);
      continue;
    }
    target[column] = fromDatabase(cast, column, value);
  }
}

/**
 * Sets attributes to the given values, as far as `fill` may set them.
 *
 * @returns the names that were ignored
 * @throws `E_INVALID_INPUT` (422) if a name cannot be a column's; `E_INVALID_MODEL` if `fillable` contains a guarded column
 */
export function fillAttributes(model: Model, modelClass: ModelClass, values: object): string[] {
  const ignored: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    if (!modelClass.isFillable(name)) {
      ignored.push(name);
      continue;
    }
    if (!isAttributeName(model, name)) throw new ColumnValueError(null, `${JSON.stringify(name)} is not a column.`);
    (model as unknown as Row)[name] = value;
  }
  return ignored;
}

/** The values of these attributes. */
export function attributesNamed(model: Model, names: readonly string[]): Row {
  return Object.fromEntries(names.map((name) => [name, (model as unknown as Row)[name]]));
}

/** Sets the time columns that a write maintains, unless the application has set them. */
export function touch({ timestamps }: ModelMetadata, changes: Row, columns: readonly string[]): void {
  if (!timestamps) return;
  const time = currentDate();
  for (const column of columns) changes[column] ??= time;
}

/** Sets the attributes whose values were changed for storage: text in its normal form, and the time of the change. */
export function takeStored(model: Model, { normalizers }: ModelMetadata, stored: Row): void {
  const attributes = model as unknown as Row;
  for (const column of normalizers.keys()) {
    if (typeof stored[column] === "string") attributes[column] = stored[column];
  }
  if (stored.updated_at !== undefined) attributes.updated_at = stored.updated_at;
}

/**
 * The attributes that differ from the row, converted for storage.
 *
 * @param original the row as stored; `null` if there isn't one yet
 * @throws `E_INVALID_INPUT` (422) if a value doesn't fit its column; `E_INVALID_QUERY` if an attribute can't be a
 * column
 */
export function changesOf(model: Model, metadata: ModelMetadata, original: Row | null): Row {
  const { casts } = metadata;
  const changes: Row = {};
  for (const [name, value] of Object.entries(model)) {
    if (value === undefined) continue;
    const cast = casts.get(attributeName(model, name));
    // If the row holds the value in another form, it isn't a change.
    const isUnchanged = original !== null && original[name] === value;
    const stored = toDatabase(cast, name, isUnchanged ? value : normalForm(metadata, name, value));
    if (original === null || !sameValue(cast, stored, storedForm(cast, name, original[name])))
      changes[name] = columnValue(name, stored);
  }
  return changes;
}

/** The attributes that are not hidden, with dates and bigints in their JSON form. */
export function visibleAttributes(model: Model, { hidden }: ModelMetadata): Row {
  const json: Row = {};
  for (const [name, value] of Object.entries(model)) {
    if (hidden.has(name)) continue;
    json[name] = value instanceof Date || typeof value === "bigint" ? plainForm(value) : value;
  }
  return json;
}

/** The value to store in a column: text is in the column's normal form. */
export function normalForm({ normalizers }: ModelMetadata, column: string, value: unknown): unknown {
  if (normalizers.size === 0 || typeof value !== "string") return value;
  return normalizers.get(column)?.(value) ?? value;
}

/** The forms of values that a model's row has: of attributes, and of stored columns. */
export function formsOf(metadata: ModelMetadata, values: Row): { readonly noted: Row; readonly stored: Row } {
  const noted = Object.entries(values).map(([name, value]) => [name, normalForm(metadata, name, value)] as const);
  const stored = noted.map(([name, value]) => [name, toDatabase(metadata.casts.get(name), name, value)]);
  return { noted: Object.fromEntries(noted), stored: Object.fromEntries(stored) };
}

/** Whether `fill` may set a column. */
export function isFillable({ fillable, guarded, primaryKey }: ModelMetadata, column: string): boolean {
  return fillable === null ? column !== primaryKey && !guarded.has(column) : fillable.has(column);
}

/**
 * Returns the name of an attribute, which must be a valid column name and not one of the model's methods.
 *
 * @throws `E_INVALID_QUERY`
 */
export function attributeName(model: Model, name: string): string {
  if (isAttributeName(model, name)) return name;
  const named = model.constructor.name;
  throw new AshlarError("E_INVALID_QUERY", `${JSON.stringify(name)} cannot be a column of the model ${named}.`);
}

/** Whether a name is a valid column name, and not one of the model's methods. */
export function isAttributeName(model: Model, name: string): boolean {
  return isColumnName(name) && !(name in Object.getPrototypeOf(model));
}

/**
 * Converts a value from the database for the application.
 *
 * @throws `E_DATABASE` if the column contains something else; the message does not include the value
 */
export function fromDatabase(cast: Cast | undefined, column: string, value: unknown): unknown {
  // A column that wasn't read stays undefined.
  if (cast === undefined || value === null || value === undefined) return value;
  switch (cast) {
    case "datetime":
      return readDate(column, value);
    case "boolean":
      if (typeof value === "boolean") return value;
      if (typeof value === "number" || typeof value === "bigint") return Number(value) !== 0;
      break;
    case "json":
      if (typeof value !== "string") return value;
      try {
        return JSON.parse(value);
      } catch {
        break;
      }
    case "integer":
      if (isSafeIntegerText(value)) return Number(value);
      if (typeof value === "bigint") return value;
      break;
  }
  throw new AshlarError("E_DATABASE", `The column "${column}" holds a value that the cast "${cast}" cannot read.`);
}

/** Whether a value is a safe integer, or a driver's text of one. */
function isSafeIntegerText(value: unknown): boolean {
  return value !== "" && Number.isSafeInteger(Number(value));
}

/**
 * Converts a value that the application has set, so that it can be stored.
 *
 * @throws `E_INVALID_INPUT` (422) if the cast can't store the value, `E_INVALID_QUERY` for a function or symbol; the
 * message does not include the value
 */
export function toDatabase(cast: Cast | undefined, column: string, value: unknown): unknown {
  if (cast === undefined || value === null || value === undefined) return value;
  switch (cast) {
    case "datetime": {
      const date = validDate(value);
      if (date !== null) return date;
      break;
    }
    case "boolean":
      if (typeof value === "boolean") return value;
      break;
    case "json":
      return jsonText(column, value);
    case "integer":
      if (typeof value === "bigint" || Number.isSafeInteger(value)) return value;
      break;
  }
  const problem = `The value for the column "${column}" does not fit the cast "${cast}".`;
  throw mayBeInput(value) ? new ColumnValueError(column, problem) : new AshlarError("E_INVALID_QUERY", problem);
}

function validDate(value: unknown): Date | null {
  if (!(value instanceof Date || typeof value === "string")) return null;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? null : date;
}

/**
 * Converts a column's new value, so that it can be stored. Without a cast, it must be a single value, which every
 * database stores unchanged. Lists and objects need the cast "json".
 *
 * @throws as {@link toDatabase}
 */
export function newValue(cast: Cast | undefined, column: string, value: unknown): unknown {
  return columnValue(column, toDatabase(cast, column, value));
}

/** Returns whether two values, both from {@link toDatabase}, are the same. */
export function sameValue(cast: Cast | undefined, a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  // PostgreSQL does not keep the order of an object's members.
  if (cast === "json" && typeof a === "string" && typeof b === "string") {
    return isDeepStrictEqual(JSON.parse(a), JSON.parse(b));
  }
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  return false;
}

/** Returns whether an attribute's value differs from the row's. A value that can't be stored always differs. */
export function differs(cast: Cast | undefined, column: string, value: unknown, stored: unknown): boolean {
  try {
    return !sameValue(cast, toDatabase(cast, column, value), storedForm(cast, column, stored));
  } catch {
    return true;
  }
}

/** A row's value in the form that {@link toDatabase} returns, for comparison. */
export function storedForm(cast: Cast | undefined, column: string, value: unknown): unknown {
  return value === undefined ? value : toDatabase(cast, column, fromDatabase(cast, column, value));
}

/** The JSON text of a value. */
export function jsonText(column: string, value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text !== undefined) return text;
  throw new AshlarError("E_INVALID_QUERY", `The value for the column "${column}" cannot be represented in JSON.`);
}

/** Parses a time in a row that the framework wrote, which the database returns as a `Date` or as text. */
export function dateOf(time: unknown): Date {
  return time instanceof Date ? time : new Date(parseTime(time as string));
}

function readDate(column: string, value: unknown): Date {
  const time = value instanceof Date ? value.getTime() : typeof value === "string" ? parseTime(value) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time);
  throw new AshlarError("E_DATABASE", `The column "${column}" holds a value that the cast "datetime" cannot read.`);
}

/** The value's form in JSON. With a `Date` in it, JSON.stringify would not use its fast path for the object. */
export function plainForm(value: Date | bigint): string | null {
  if (typeof value === "bigint") return String(value);
  return Number.isNaN(value.getTime()) ? null : value.toISOString();
}

/**
 * Parses a time in a row, and returns the milliseconds since 1970. The framework writes `2026-01-31T12:00:00.000Z`, and
 * SQLite's CURRENT_TIMESTAMP writes `2026-01-31 12:00:00`, in UTC. `Date` parses anything else; `NaN` if it is not a
 * time.
 *
 * Every row has times, and `Date` is several times slower.
 */
export function parseTime(text: string): number {
  return parseUsual(text) ?? Date.parse(withZone(text));
}

/** Parses a text that has exactly one of the two forms; `null` for any other. */
function parseUsual(text: string): number | null {
  const isIso = text.length === 24 && text[10] === "T" && text[19] === "." && text[23] === "Z";
  if (!isIso && !(text.length === 19 && text[10] === " ")) return null;
  if (!hasSeparators(text)) return null;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const second = digits(text, 17, 19);
  const millisecond = isIso ? digits(text, 20, 23) : 0;
  // Date.UTC normalizes numbers that are out of range, and interprets years before 100 as years of the 20th century.
  const isDate = year >= 100 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
  const isTime = hour <= 23 && minute <= 59 && second <= 59 && millisecond <= 999;
  return isDate && isTime ? Date.UTC(year, month - 1, day, hour, minute, second, millisecond) : null;
}

function hasSeparators(text: string): boolean {
  return text[4] === "-" && text[7] === "-" && text[13] === ":" && text[16] === ":";
}

/** Parses part of a text as a number; `NaN` if it contains anything but digits. */
function digits(text: string, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

function withZone(text: string): string {
  return /^\d{4}-\d\d-\d\d[ T][\d:.]+$/.test(text) ? `${text.replace(" ", "T")}Z` : text;
}
