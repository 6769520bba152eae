import type { Row } from "../dialect/executor.ts";
import type { Snapshot } from "../executors/rollback-log.ts";
import { differs } from "./model-attributes.ts";
import type { ModelMetadata } from "./model-metadata.ts";

/** The row that a model considers stored. */
export interface StoredRow {
  get(): Row | null;
  set(row: Row | null): void;
}

/**
 * A model's state at this moment, for restoring it after a rollback: the stored row, and every attribute that came from
 * it. Attributes set by the application stay, before and after a save, so that the next save stores them.
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
        // After a deletion, the key and times from a row of this transaction are stored again: they are not the
        // application's.
        if (latest === null || differs(casts.get(name), name, value, latest[name])) before[name] = value;
      }
      latest = stored.get() ?? latest;
    },
    restore() {
      const written = stored.get() ?? latest ?? {};
      for (const name of Object.keys(attributes)) {
        // It is neither the column's value nor the written one, so it is the application's own.
        if (differs(casts.get(name), name, attributes[name], written[name])) continue;
        if (name in before) attributes[name] = before[name];
        else delete attributes[name];
      }
      stored.set(row);
    },
  };
}
