export { type CreateTableBuilder, type Expression, type Kysely, type SqlBool, sql, type Transaction } from "kysely";
export { type BatchCondition, type BatchTable, deleteInBatches, pauseAfterBatch, visitInBatches } from "./batches.ts";
export { type Cast, type Casts, dateOf, fromDatabase, toDatabase } from "./casts.ts";
export { tableName } from "./column-names.ts";
export { json, longText, primaryKey, reference, timestamp, timestamps } from "./columns.ts";
export { compose, type Mixin } from "./compose.ts";
export { type ConcurrentIndexOptions, createIndexConcurrently } from "./concurrent-index.ts";
export type { Connection, QueryEvent } from "./connection.ts";
export { Database } from "./database.ts";
export type {
  ColumnType,
  ColumnTypes,
  ColumnValue,
  ConnectionUsage,
  Dialect,
  DialectSetup,
  DialectSource,
  Executor,
  Observer,
  PhysicalConnection,
  PortableAdapter,
  Replicas,
  Reservation,
  Row,
  RowLock,
  TestDatabase,
  TransactionOptions,
} from "./dialect.ts";
export {
  type ConstraintDetails,
  ConstraintViolationError,
  DatabaseError,
  ForeignKeyViolationError,
  NotNullViolationError,
  UniqueViolationError,
  UnknownColumnError,
} from "./errors.ts";
export type { ReportLongTransaction } from "./long-transactions.ts";
export { mariadb } from "./mariadb/mariadb.ts";
export type { MariadbSettings } from "./mariadb/mariadb-settings.ts";
export type { Migration, MigrationFile } from "./migration-files.ts";
export { type MigrateOptions, type MigrationStatus, Migrations, type RollbackOptions } from "./migrations.ts";
export { Model } from "./model.ts";
export { applicationOf, applicationsNaming, claimModel, databaseOf, haveSameTable } from "./model-database.ts";
export { metadataOf } from "./model-metadata.ts";
export { type ComparisonOperator, ModelQuery, type OrderOptions, type Page } from "./model-query.ts";
export type { Attributes, Column, ModelClass, ModelConstructor, ModelKey, Normalizers } from "./model-types.ts";
export { optionalPackage } from "./optional-package.ts";
export {
  type ParameterValues,
  type PreparedStatement,
  parameter,
  type QueryTemplate,
  queryTemplate,
} from "./parameters.ts";
export { postgres } from "./postgres/postgres.ts";
export type { PostgresSettings } from "./postgres/postgres-settings.ts";
export { DatabaseProvider } from "./provider.ts";
export { ReadReplicas } from "./read-replicas.ts";
export { CONFLICT_RETRIES } from "./retries.ts";
export { returningWrites } from "./returning-writes.ts";
export { type DryRun, dryRun } from "./schema-risks/dry-run.ts";
export { type MigrationRisk, migrationRisks } from "./schema-risks/migration-risks.ts";
export type { SchemaChange, SchemaRisk } from "./schema-risks/schema-change.ts";
export type { DatabaseServerSettings } from "./server-settings.ts";
export {
  type CompleteDatabaseSettings,
  connectionSource,
  type DatabaseSettings,
  type NamedDialect,
} from "./settings.ts";
export { type SqliteSettings, sqlite } from "./sqlite/sqlite.ts";
export { obstacle } from "./sqlite/sqlite-file.ts";
export { MissingTableError, requireTableElsewhere, StoreTable } from "./store-table.ts";
export {
  columnsOf,
  hasTable,
  invalidIndexesOf,
  looseTextColumnsOf,
  plainTablesOf,
  replicaMigrations,
  tableHasColumn,
  uniqueColumnNamesOf,
} from "./table-columns.ts";
export { TABLE_NAME } from "./table-names.ts";
export type { QueryBuilder, Tables } from "./tables.ts";
export type {
  DeleteQuery,
  InsertQuery,
  Returned,
  UpsertQuery,
  UpsertRowsQuery,
  Write,
  WriteScope,
  Writes,
  WrittenValues,
} from "./writes.ts";
