import type { DeleteResult, UpdateResult } from "kysely";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import type { Connection } from "../connections/connection.ts";
import type { Database } from "../connections/database.ts";
import { columnName, columnValue, isStorableText, keyValue, queriedColumn } from "../dialect/column-names.ts";
import type { ColumnValue, Row } from "../dialect/executor.ts";
import { asQueryError } from "./input-errors.ts";
import type { Model } from "./model.ts";
import type { Cast, Casts } from "./model-attributes.ts";
import { bindings, lineage, resolveDatabase } from "./model-database.ts";
import type { ModelClass, ModelKey, Normalizers } from "./model-types.ts";
import "../errors.ts";

/** Data that is computed once per model class, and used for every row. */
export interface ModelMetadata {
  readonly connection: Connection;
  readonly table: string;
  readonly primaryKey: string;
  readonly timestamps: boolean;
  readonly casts: ReadonlyMap<string, Cast>;
  readonly hidden: ReadonlySet<string>;
  /** The columns that `fill` may set; `null` for all but the primary key and guarded columns. */
  readonly fillable: ReadonlySet<string> | null;
  readonly guarded: ReadonlySet<string>;
  /** The functions that normalize a column's text, by column. */
  readonly normalizers: ReadonlyMap<string, Normalizers[string]>;
  /** The columns of rows seen so far, which need no further check. */
  readonly columns: Set<string>;
  /** The compiled statement of `findBy`, by column. */
  readonly lookups: Map<string, string>;
  /** The version of the bindings when the connection was chosen. */
  readonly binding: number;
}

/** The metadata of classes that use the same database in all applications. */
const shared = new WeakMap<object, ModelMetadata>();
/** The metadata of classes that several applications in the process use, each with its own database. */
const byDatabase = new WeakMap<Database, WeakMap<object, ModelMetadata>>();

/**
 * Returns a model class's metadata.
 *
 * @throws `E_DATABASE` if it has no database; `E_INVALID_CONFIGURATION` if several databases are possible;
 * `E_INVALID_MODEL` if `fillable` contains a guarded column
 */
export function metadataOf(modelClass: ModelClass): ModelMetadata {
  const metadata = shared.get(modelClass);
  return metadata !== undefined && metadata.binding === bindings.version ? metadata : newMetadata(modelClass);
}

function newMetadata(modelClass: ModelClass): ModelMetadata {
  const { database, isSettled } = resolveDatabase(modelClass);
  if (isSettled) return keptMetadata(shared, modelClass, database);
  const own = byDatabase.get(database) ?? new WeakMap<object, ModelMetadata>();
  byDatabase.set(database, own);
  return keptMetadata(own, modelClass, database);
}

function keptMetadata(kept: WeakMap<object, ModelMetadata>, modelClass: ModelClass, database: Database): ModelMetadata {
  const metadata = kept.get(modelClass);
  if (metadata !== undefined && metadata.binding === bindings.version) return metadata;
  const read = readMetadata(modelClass, database);
  kept.set(modelClass, read);
  return read;
}

function readMetadata(modelClass: ModelClass, database: Database): ModelMetadata {
  const { timestamps, fillable } = modelClass;
  const casts = new Map<string, Cast>();
  if (timestamps) casts.set("created_at", "datetime").set("updated_at", "datetime");
  const hidden = new Set<string>();
  const guarded = new Set<string>();
  const normalizers = new Map<string, Normalizers[string]>();
  // Goes from the base class down, so that a mixin's casts and hidden columns still apply if a subclass lists its own.
  for (const one of lineage(modelClass).reverse()) {
    for (const column of one.hidden) hidden.add(column);
    // A mixin's getter reads its columns' names from the subclass: `this.passwordColumn`.
    const ownCasts = Reflect.get(one, "casts", modelClass) as Casts;
    for (const [column, cast] of Object.entries(ownCasts)) casts.set(column, cast);
    for (const column of Reflect.get(one, "guarded", modelClass) as readonly string[]) guarded.add(column);
    const own = Reflect.get(one, "normalizes", modelClass) as Normalizers;
    for (const [column, normalize] of Object.entries(own)) normalizers.set(column, normalize);
  }
  const contradiction = fillable?.find((column) => guarded.has(column));
  if (contradiction !== undefined) {
    const problem = `${modelClass.name}.fillable names "${contradiction}", which the model or one of its mixins guards.`;
    const remedy = "Remove it from fillable, and set the column with the mixin's own methods.";
    throw new AshlarError("E_INVALID_MODEL", `${problem} ${remedy}`);
  }
  return {
    connection: database.connection(modelClass.connection ?? undefined),
    table: columnName(modelClass.table),
    primaryKey: columnName(modelClass.primaryKey),
    timestamps,
    casts,
    hidden,
    fillable: fillable === null ? null : new Set(fillable),
    guarded,
    normalizers,
    columns: new Set(),
    lookups: new Map(),
    binding: bindings.version,
  };
}

/**
 * Fetches the first row whose column has a value, as a model.
 *
 * @throws as {@link lookUp}; also `E_INVALID_INPUT` if the table lacks the column and the class doesn't name it
 */
export async function findModel<M extends Model>(
  modelClass: ModelClass<M>,
  column: string,
  value: ColumnValue,
): Promise<M | null> {
  const metadata = metadataOf(modelClass);
  let row: Row | undefined;
  try {
    const found = lookUp(metadata, column, value);
    row = found instanceof Promise ? await found : found;
  } catch (error) {
    throw asQueryError(metadata, [column], error);
  }
  return row === undefined ? null : modelClass.fromRow(row);
}

/**
 * Fetches the first row whose column has a value. The statement is compiled once for each column.
 *
 * @throws `E_INVALID_INPUT` or `E_INVALID_QUERY` if the column's name or the value is not valid
 */
export function lookUp(metadata: ModelMetadata, column: string, value: ColumnValue): MaybePromise<Row | undefined> {
  const statement = metadata.lookups.get(column) ?? compileLookup(metadata, column);
  if (value === null) return firstWithout(metadata, column);
  if (typeof value === "string") {
    // No row contains text that databases can't store.
    return isStorableText(value) ? metadata.connection.first(statement, value) : undefined;
  }
  const checked = column === metadata.primaryKey ? keyValue(column, value) : columnValue(column, value);
  return metadata.connection.first(statement, checked);
}

function compileLookup(metadata: ModelMetadata, column: string): string {
  const { kysely } = metadata.connection;
  const query = kysely.selectFrom(metadata.table).selectAll().where(queriedColumn(column), "=", null);
  // Kysely would make the limit a parameter. With a literal, the value is the only parameter.
  const limited = `${query.compile().sql} limit 1`;
  metadata.lookups.set(column, limited);
  return limited;
}

async function firstWithout(metadata: ModelMetadata, column: string): Promise<Row | undefined> {
  const { kysely } = metadata.connection;
  const query = kysely.selectFrom(metadata.table).selectAll().where(queriedColumn(column), "is", null);
  return await query.limit(1).executeTakeFirst();
}

/** Inserts a row, and returns it with its defaults. */
export async function insertRow({ connection, table }: ModelMetadata, values: Row): Promise<Row> {
  const [row] = await connection.writes.insert({ table, values, returning: "all" })({});
  return row!;
}

/** Changes the row with a key, if there is one. */
export function updateRow(metadata: ModelMetadata, key: ModelKey, changes: Row): Promise<UpdateResult> {
  const { connection, table, primaryKey } = metadata;
  const query = connection.kysely.updateTable(table).set(changes).where(primaryKey, "=", key);
  return query.executeTakeFirst();
}

/** Deletes the row with a key, if there is one. */
export function deleteRow({ connection, table, primaryKey }: ModelMetadata, key: ModelKey): Promise<DeleteResult> {
  const query = connection.kysely.deleteFrom(table).where(primaryKey, "=", key);
  return query.executeTakeFirst();
}

/**
 * The primary key of a model's stored row, even if the attribute has been changed.
 *
 * @throws `E_INVALID_QUERY` if the model was read without it
 */
export function storedKey(model: Model, { primaryKey }: ModelMetadata, row: Row): ModelKey {
  const key = row[primaryKey];
  if (key !== undefined && key !== null) return key as ModelKey;
  throw new AshlarError("E_INVALID_QUERY", `The model ${model.constructor.name} was read without its primary key.`);
}

/** @throws `E_ROW_NOT_FOUND` */
export function rowNotFound(): never {
  throw new AshlarError("E_ROW_NOT_FOUND");
}
