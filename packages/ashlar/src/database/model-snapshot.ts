import { differs } from "./casts.ts";
import type { Row } from "./dialect.ts";
import type { ModelPlan } from "./model-plan.ts";
import type { Snapshot } from "./rollback-log.ts";

/** The row that a model believes to be stored. */
export interface StoredRow {
  get(): Row | null;
  set(row: Row | null): void;
}

/**
 * What a model is at this moment, to be put back by a rollback: the stored row, and every attribute that came from it.
 * Attributes that the application set stay as they are, before a save and after it, so that the next save stores them.
 *
 * @param attributes the model itself
 */
export function modelSnapshot({ casts }: ModelPlan, attributes: Row, stored: StoredRow): Snapshot {
  const row = stored.get();
  const before: Row = { ...attributes };
  // The latest row of the transaction, also after that was deleted.
  let latest: Row | null = null;
  return {
    extend(values) {
      for (const [name, value] of Object.entries(values)) {
        // After a deletion, the key and times that a row of this transaction had are stored again: not the application's.
        if (latest === null || differs(casts.get(name), name, value, latest[name])) before[name] = value;
      }
      latest = stored.get() ?? latest;
    },
    restore() {
      const written = stored.get() ?? latest ?? {};
      for (const name of Object.keys(attributes)) {
        // Neither the column's value nor what was written there: the application's.
        if (differs(casts.get(name), name, attributes[name], written[name])) continue;
        if (name in before) attributes[name] = before[name];
        else delete attributes[name];
      }
      stored.set(row);
    },
  };
}
