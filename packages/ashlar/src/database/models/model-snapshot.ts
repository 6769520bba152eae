import type { Row } from "../dialect/executor.ts";
import type { Snapshot } from "../executors/rollback-log.ts";
import { differs } from "./model-attributes.ts";
import type { ModelMetadata } from "./model-metadata.ts";

/** Access to the row that a model considers stored. */
export interface StoredRow {
  get(): Row | null;
  set(row: Row | null): void;
}

/**
 * A model's current state, to restore after a rollback: the stored row, and every attribute that came from it.
 * Attributes that the application set, before or after a save, stay, so that the next save stores them.
 *
 * @param attributes the model itself
 */
export function modelSnapshot({ casts }: ModelMetadata, attributes: Row, stored: StoredRow): Snapshot {
  const row = stored.get();
  const before: Row = { ...attributes };
  // The transaction's latest row, even after it was deleted.
  let latest: Row | null = null;
  return {
    extend(values) {
      for (const [name, value] of Object.entries(values)) {
        // If a model is saved again after its deletion, it still has the key and times of the deleted row. They came
        // from this transaction, not from the application.
        if (latest === null || differs(casts.get(name), name, value, latest[name])) before[name] = value;
      }
      latest = stored.get() ?? latest;
    },
    restore() {
      const written = stored.get() ?? latest ?? {};
      for (const name of Object.keys(attributes)) {
        // The value differs from what was written, so the application has set it since.
        if (differs(casts.get(name), name, attributes[name], written[name])) continue;
        if (name in before) attributes[name] = before[name];
        else delete attributes[name];
      }
      stored.set(row);
    },
  };
}
