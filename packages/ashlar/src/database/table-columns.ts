import type { Database } from "./database.ts";
import type { Model } from "./model.ts";
import { type ModelPlan, planOf } from "./model-plan.ts";
import type { ModelClass } from "./model-types.ts";

const known = new WeakMap<ModelPlan, Promise<ReadonlySet<string>>>();
const tables = new WeakMap<Database, Set<string>>();

/**
 * Tells whether the table of a model's class has a column. The table is asked once, since a migration runs before the
 * application does.
 */
export async function tableHasColumn<M extends Model>(modelClass: ModelClass<M>, column: string): Promise<boolean> {
  const plan = planOf(modelClass as unknown as ModelClass);
  // Rows that were read before have shown it.
  if (plan.columns.has(column)) return true;
  let columns = known.get(plan);
  if (columns === undefined) {
    columns = columnsOf(plan);
    known.set(plan, columns);
    columns.catch(() => known.delete(plan));
  }
  return (await columns).has(column);
}

/**
 * Tells whether the default connection of a database has a table. One that was there once is not asked for again.
 */
export async function hasTable(database: Database, table: string): Promise<boolean> {
  const names = tables.get(database) ?? new Set();
  tables.set(database, names);
  if (!names.has(table)) for (const { name } of await database.kysely.introspection.getTables()) names.add(name);
  return names.has(table);
}

async function columnsOf({ connection, table }: ModelPlan): Promise<ReadonlySet<string>> {
  const tables = await connection.kysely.introspection.getTables();
  const columns = tables.filter(({ name }) => name === table).flatMap((one) => one.columns);
  return new Set(columns.map(({ name }) => name));
}
