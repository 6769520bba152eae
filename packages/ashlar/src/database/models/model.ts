// biome-ignore-all lint/complexity/noThisInStatic: a model's static methods work on the class they are called on.
import type { SelectQueryBuilder } from "kysely";
import type { Container } from "../../kernel/index.ts";
import type { Database } from "../connections/database.ts";
import { tableName } from "../dialect/column-names.ts";
import type { ColumnValue, Row } from "../dialect/executor.ts";
import type { Tables } from "../dialect/tables.ts";
import type { RollbackLog } from "../executors/rollback-log.ts";
import { asInputError } from "./input-errors.ts";
import {
  attributesNamed,
  type Casts,
  changesOf,
  fillAttributes,
  formsOf,
  fromDatabase,
  isFillable,
  setAttributes,
  takeStored,
  touch,
  visibleAttributes,
} from "./model-attributes.ts";
import { applicationOf, bindDatabase, boundDatabase } from "./model-database.ts";
import {
  deleteRow,
  findModel,
  insertRow,
  lookUp,
  type ModelMetadata,
  metadataOf,
  rowNotFound,
  storedKey,
  updateRow,
} from "./model-metadata.ts";
import { type ComparisonOperator, ModelQuery } from "./model-query.ts";
import { modelSnapshot } from "./model-snapshot.ts";
import type { Attributes, Column, ModelClass, ModelKey } from "./model-types.ts";

/**
 * A row of a table, with the columns as its properties, named as in SQL.
 *
 * ```ts
 * class User extends Model {
 *   static override hidden = ["password"];
 *   declare id: number;
 *   declare email: string;
 *   declare password: string;
 * }
 * const user = await User.findBy("email", "ada@example.com");
 * ```
 *
 * Declare columns with `declare`, so that no field of the class hides the row's value.
 */
export class Model {
  /**
   * The services of the application whose configuration names the class, for methods of mixins; `null` if none does.
   *
   * @throws `E_INVALID_CONFIGURATION` outside of a request, if several applications do
   */
  static get services(): Container | null {
    return applicationOf(this as ModelClass)?.container ?? null;
  }
  /** The table; default: the class's name in snake case, as a plural. */
  static get table(): string {
    return tableName(this.name);
  }
  /** The primary key column. */
  static primaryKey: string = "id";
  /** Whether to maintain the columns `created_at` and `updated_at`. */
  static timestamps: boolean = true;
  /** How columns are converted for the application. Casts of base classes still apply. */
  static casts: Casts = {};
  /** Columns left out of JSON. Columns that base classes hide stay hidden. */
  static hidden: readonly string[] = [];
  /**
   * Columns that `fill`, and therefore `create`, may set; `null` for all but the primary key and the guarded columns.
   * Others are ignored, which is logged once per column in development.
   *
   * ```ts
   * class Order extends Model {
   *   static override fillable: readonly string[] = ["number", "note"];
   *   declare number: number;
   *   declare note: string;
   * }
   * ```
   *
   * Security: if values come from a request, list the columns here, or validate the request with a schema.
   */
  static fillable: readonly string[] | null = null;
  /**
   * Columns that `fill` and `create` never set, because a mixin or the model has methods that set them, such as a
   * password hash or a token. Columns that base classes guard stay guarded. `fillable` must not contain any of them.
   *
   * ```ts
   * class Article extends Model {
   *   static override guarded: readonly string[] = ["archived_at"];
   * }
   * ```
   */
  static guarded: readonly string[] = [];
  /**
   * Functions that normalize text, by column, for example to lower case. `save`, and a query's `update`, store the
   * normalized text, however the column was set. Existing rows stay unchanged until the column is set. Base classes'
   * normalizers still apply.
   *
   * ```ts
   * class Coupon extends Model {
   *   static override normalizes = { code: (text: string) => text.trim().toUpperCase() };
   *   declare code: string;
   * }
   * ```
   *
   * Queries don't normalize the values that they look for.
   */
  static normalizes: Readonly<Record<string, (text: string) => string>> = {};
  /** The name of the connection in `config/database.ts`; `null` for the default one. */
  static connection: string | null = null;

  /** The stored row; `null` if the model hasn't been stored yet. */
  #original: Row | null = null;

  /**
   * Assigns a database to this class and its subclasses. By default they use the application's, which its provider
   * assigns.
   *
   * If there are several applications in one process, a model uses the database of the application whose configuration
   * uses the class (`GUARDS`, `DRIVERS.jwt.model`), or that is handling the current request. For other classes outside
   * of requests, assign a database: `Order.useDatabase(application.container.make("database"))`.
   */
  static useDatabase(database: Database): void {
    bindDatabase(this, database);
  }

  /** Removes a database from this class, if it was assigned. */
  static leaveDatabase(database: Database): void {
    if (boundDatabase(this) === database) bindDatabase(this, null);
  }

  /**
   * The row with a primary key, or `null`.
   *
   * @throws `E_INVALID_INPUT` (422) if the key is a list, an object or another value that a column cannot hold
   */
  static find<M extends Model>(this: ModelClass<M>, key: ModelKey): Promise<M | null> {
    return findModel(this, this.primaryKey, key);
  }

  /**
   * The row with a primary key.
   *
   * @throws `E_ROW_NOT_FOUND` (404); `E_INVALID_INPUT` (422) as `find`
   */
  static async findOrFail<M extends Model>(this: ModelClass<M>, key: ModelKey): Promise<M> {
    return (await findModel(this, this.primaryKey, key)) ?? rowNotFound();
  }

  /**
   * The first row whose column has a value, or `null`.
   *
   * @throws `E_INVALID_INPUT` (422) as `find`, and if the table does not have the column, unless the model's class names it
   */
  static findBy<M extends Model>(this: ModelClass<M>, column: Column<M>, value: ColumnValue): Promise<M | null> {
    return findModel(this, column, value);
  }

  /** A query for the rows whose column has a value, or compares to it by the operator. */
  static where<M extends Model>(this: ModelClass<M>, column: Column<M>, value: ColumnValue): ModelQuery<M>;
  static where<M extends Model>(
    this: ModelClass<M>,
    column: Column<M>,
    operator: ComparisonOperator,
    value: ColumnValue,
  ): ModelQuery<M>;
  static where<M extends Model>(this: ModelClass<M>, column: Column<M>, ...rest: [unknown, unknown?]): ModelQuery<M> {
    return new ModelQuery<M>(this).where(column, ...(rest as [ColumnValue]));
  }

  /** All rows. */
  static all<M extends Model>(this: ModelClass<M>): Promise<M[]> {
    return new ModelQuery<M>(this).get();
  }

  /** A query for all rows, to filter, order and count them. */
  static rows<M extends Model>(this: ModelClass<M>): ModelQuery<M> {
    return new ModelQuery<M>(this);
  }

  /** Kysely's `selectFrom` on the model's table, for anything that models don't offer. */
  static query(): SelectQueryBuilder<Tables, keyof Tables, object> {
    const { connection, table } = metadataOf(this as ModelClass);
    return connection.kysely.selectFrom(table) as unknown as SelectQueryBuilder<Tables, keyof Tables, object>;
  }

  /** Creates a model from a row that your own query fetched. */
  static fromRow<M extends Model>(this: ModelClass<M>, row: Row): M {
    const model = new this();
    model.#absorb(metadataOf(this), row);
    return model;
  }

  /**
   * Returns whether `fill` and `create` may set a column.
   *
   * @throws `E_INVALID_MODEL` if `fillable` contains a guarded column
   */
  static isFillable<M extends Model>(this: ModelClass<M>, column: string): boolean {
    return isFillable(metadataOf(this), column);
  }

  /**
   * Stores a new row with the given values, as far as `fill` sets them. List their columns in `fillable`.
   *
   * @throws as `fill` and `save`
   */
  static async create<M extends Model>(this: ModelClass<M>, values: Attributes<M>): Promise<M> {
    const model = new this();
    model.fill(values as Attributes<typeof model>);
    return await model.save();
  }

  /** Whether the model has been stored. */
  isStored(): boolean {
    return this.#original !== null;
  }

  /**
   * Sets attributes from a plain object: those in `fillable`, never a guarded column, and the primary key only if
   * `fillable` lists it. Ignores all others, and values that are `undefined`. In development, logs a warning with the
   * ignored names, once per name.
   *
   * @throws `E_INVALID_INPUT` (422) if a name cannot be a column's; `E_INVALID_MODEL` if `fillable` contains a guarded
   * column
   */
  fill(values: Attributes<this>): this {
    const modelClass = this.constructor as ModelClass;
    const ignored = fillAttributes(this, modelClass, values);
    if (ignored.length > 0) this.#metadata.connection.ignoredAttributes?.add(modelClass, this.#metadata, ignored);
    return this;
  }

  /**
   * Stores the model: a new row, or the changed columns of its row. If nothing has changed, no query is made.
   *
   * If the surrounding transaction is rolled back, so is the effect on the model: the key, times and defaults from the
   * database are removed, the row counts as stored only if it was before, and the values that you set can be saved
   * again.
   *
   * @throws `E_INVALID_INPUT` (422) if a value does not fit its column: a list or an object without the cast "json", an
   * invalid date, text that is too long, `null` in a required column; or an attribute that isn't a column, if `fill`
   * may set it and `fillable` doesn't list it; `E_ROW_NOT_FOUND` if the row is gone; `E_UNIQUE_VIOLATION`,
   * `E_FOREIGN_KEY_VIOLATION`, `E_NOT_NULL_VIOLATION`, `E_INVALID_QUERY`. To catch one of these in a transaction that
   * continues, save in a nested transaction: `await database.transaction(() => user.save())`
   */
  async save(): Promise<this> {
    const metadata = this.#metadata;
    const { rollbackLog } = metadata.connection;
    const changes = changesOf(this, metadata, this.#original);
    const refuse = (error: unknown): never => {
      throw asInputError(metadata, this.#attributes, error);
    };
    const own = rollbackLog === null ? {} : attributesNamed(this, Object.keys(changes));
    if (this.#original === null) {
      touch(metadata, changes, ["created_at", "updated_at"]);
      const row = await insertRow(metadata, changes).catch(refuse);
      this.#apply(rollbackLog, own, () => this.#absorb(metadata, row));
      return this;
    }
    if (Object.keys(changes).length === 0) return this;
    touch(metadata, changes, ["updated_at"]);
    const key = storedKey(this, metadata, this.#original);
    const { numUpdatedRows } = await updateRow(metadata, key, changes).catch(refuse);
    if (numUpdatedRows === 0n) rowNotFound();
    this.#apply(rollbackLog, own, () => {
      this.#original = { ...this.#original, ...changes };
      takeStored(this, metadata, changes);
    });
    return this;
  }

  /**
   * Deletes the model's row.
   *
   * @returns `false` if it was already gone
   */
  async delete(): Promise<boolean> {
    const metadata = this.#metadata;
    if (this.#original === null) return false;
    const { numDeletedRows } = await deleteRow(metadata, storedKey(this, metadata, this.#original));
    this.#apply(metadata.connection.rollbackLog, {}, () => {
      this.#original = null;
    });
    return numDeletedRows > 0n;
  }

  /**
   * Reads the row again, and discards unsaved changes.
   *
   * @throws `E_ROW_NOT_FOUND` if the row is gone, or was never stored
   */
  async refresh(): Promise<this> {
    const metadata = this.#metadata;
    if (this.#original === null) rowNotFound();
    const key = storedKey(this, metadata, this.#original);
    const found = (await lookUp(metadata, metadata.primaryKey, key)) ?? rowNotFound();
    this.#apply(metadata.connection.rollbackLog, {}, () => this.#absorb(metadata, found));
    return this;
  }

  /**
   * Writes columns of a stored model with one UPDATE, even if they have not changed; other changes stay unsaved. Of concurrent
   * calls with the same conditions, one can win: `await user.writeColumns({ name: "Augusta" }, { name: "Ada" })`.
   *
   * @param conditions the values that columns of the row must have; `null`: empty. Default: no conditions
   * @returns whether the row existed, met the conditions, and was therefore written
   */
  async writeColumns(changes: Row, conditions: Readonly<Record<string, ColumnValue>> = {}): Promise<boolean> {
    const metadata = this.#metadata;
    if (this.#original === null) return false;
    const key = storedKey(this, metadata, this.#original);
    let row = (this.constructor as ModelClass).where(metadata.primaryKey, key);
    for (const [column, value] of Object.entries(conditions)) row = row.where(column, value);
    if ((await row.update(changes)) === 0) return false;
    this.noteStored(changes);
    return true;
  }

  /** Records values that your own statement has stored in this model's row, so that `save` doesn't store them again. */
  noteStored(values: Row): void {
    const { noted, stored } = formsOf(this.#metadata, values);
    this.#apply(this.#metadata.connection.rollbackLog, {}, () => {
      Object.assign(this.#attributes, noted);
      this.#original = { ...this.#original, ...stored };
    });
  }

  /**
   * Returns whether any of the given columns differs from the stored row; without arguments, whether any column does.
   */
  isDirty(...columns: Column<this>[]): boolean {
    const changes = changesOf(this, this.#metadata, this.#original);
    return columns.length === 0 ? Object.keys(changes).length > 0 : columns.some((column) => column in changes);
  }

  /** A column's stored value; `undefined` if the model doesn't know it. */
  getOriginal(column: Column<this>): unknown {
    return fromDatabase(this.#metadata.casts.get(column), column, this.#original?.[column]);
  }

  /** The columns as a plain object for JSON, without the hidden ones. */
  toJSON(): Row {
    return visibleAttributes(this, this.#metadata);
  }

  get #attributes(): Row {
    return this as unknown as Row;
  }

  get #metadata(): ModelMetadata {
    return metadataOf(this.constructor as ModelClass);
  }

  /** Applies a statement's change to the model, and undoes it if the statement is rolled back. */
  #apply(log: RollbackLog | null, own: Row, change: () => void): void {
    const set = (row: Row | null): void => {
      this.#original = row;
    };
    const snapshot = () => modelSnapshot(this.#metadata, this.#attributes, { get: () => this.#original, set });
    if (log === null || log.record(this, snapshot, own)) change();
  }

  #absorb(metadata: ModelMetadata, row: Row): void {
    setAttributes(this, metadata, row);
    this.#original = row;
  }
}
