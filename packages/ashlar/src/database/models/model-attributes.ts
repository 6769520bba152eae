import { columnValue } from "../dialect/column-names.ts";
import type { Row } from "../dialect/executor.ts";
import { fromDatabase, jsonText, plainForm, sameValue, storedForm, toDatabase } from "./casts.ts";
import type { Model } from "./model.ts";
import { attributeName, type ModelMetadata, normalForm } from "./model-metadata.ts";

/**
 * Sets a model's attributes to the values of a row. Parsed JSON is replaced by its text in the row.
 *
 * @throws `E_INVALID_QUERY` if a column's name can't be an attribute's
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
      // Kept as text, because an object could be changed in place, and would then not differ from itself.
      row[column] = jsonText(column, value);
      continue;
    }
    target[column] = fromDatabase(cast, column, value);
  }
}

/**
 * The attributes that differ from the row, converted for storage.
 *
 * @param original the row as stored; `null` if there isn't one yet
 * @throws `E_INVALID_INPUT` (422) if a value does not suit its column; `E_INVALID_QUERY` if an attribute can't be a column
 */
export function changesOf(model: Model, metadata: ModelMetadata, original: Row | null): Row {
  const { casts } = metadata;
  const changes: Row = {};
  for (const [name, value] of Object.entries(model)) {
    if (value === undefined) continue;
    const cast = casts.get(attributeName(model, name));
    // A value that the row holds in another form isn't a change.
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
