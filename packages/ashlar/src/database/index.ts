export { type CreateTableBuilder, type Expression, type Kysely, type SqlBool, sql, type Transaction } from "kysely";
export type { Connection, QueryEvent } from "./connections/connection.ts";
export { Database } from "./connections/database.ts";
export {
  type CompleteDatabaseSettings,
  connectionSource,
  type DatabaseSettings,
  type NamedDialect,
} from "./connections/settings.ts";
export { tableName } from "./dialect/column-names.ts";
export { json, longText, primaryKey, reference, timestamp, timestamps } from "./dialect/columns.ts";
export { type ConcurrentIndexOptions, createIndexConcurrently } from "./dialect/concurrent-index.ts";
export type { ConnectionUsage, Dialect, DialectSetup, DialectSource } from "./dialect/dialect.ts";
export type { TestDatabase } from "./dialect/dialect-maintenance.ts";
export type { ColumnValue, Executor, Row } from "./dialect/executor.ts";
export type { DatabaseServerSettings } from "./dialect/server-settings.ts";
export type { QueryBuilder, Tables } from "./dialect/tables.ts";
export type {
  DeleteQuery,
  InsertQuery,
  Returned,
  UpsertQuery,
  UpsertRowsQuery,
  WriteScope,
  Writes,
  WrittenValues,
} from "./dialect/writes.ts";
export {
  type ParameterValues,
  type PreparedStatement,
  parameter,
  queryTemplate,
  returningWrites,
} from "./dialect/writes.ts";
export {
  type ConstraintDetails,
  ConstraintViolationError,
  DatabaseError,
  ForeignKeyViolationError,
  NotNullViolationError,
  UniqueViolationError,
  UnknownColumnError,
} from "./errors.ts";
export {
  type BatchCondition,
  type BatchTable,
  deleteInBatches,
  pauseAfterBatch,
  visitInBatches,
} from "./executors/batches.ts";
export { CONFLICT_RETRIES } from "./executors/executor-layers.ts";
export type { ReportLongTransaction } from "./executors/long-transactions.ts";
export { ReadReplicas } from "./executors/read-replicas.ts";
export { mariadb } from "./mariadb/mariadb.ts";
export type { MariadbSettings } from "./mariadb/mariadb-settings.ts";
export {
  type MigrateOptions,
  Migrations,
  type RollbackOptions,
} from "./migrations/migrations.ts";
export { DatabaseProvider } from "./migrations/provider.ts";
export { MissingTableError, requireTableElsewhere, StoreTable } from "./migrations/store-table.ts";
export {
  columnsOf,
  hasTable,
  invalidIndexesOf,
  looseTextColumnsOf,
  plainTablesOf,
  replicaMigrations,
  tableHasColumn,
  uniqueColumnNamesOf,
} from "./migrations/table-columns.ts";
export { compose, type Mixin } from "./models/compose.ts";
export { Model } from "./models/model.ts";
export { type Cast, type Casts, dateOf, fromDatabase, toDatabase } from "./models/model-attributes.ts";
export { applicationsNaming, claimModel, databaseOf, haveSameTable } from "./models/model-database.ts";
export { metadataOf } from "./models/model-metadata.ts";
export { type ComparisonOperator, ModelQuery, type OrderOptions, type Page } from "./models/model-query.ts";
export type { Attributes, Column, ModelClass, ModelKey, Normalizers } from "./models/model-types.ts";
export { optionalPackage } from "./optional-package.ts";
export { postgres } from "./postgres/postgres.ts";
export type { PostgresSettings } from "./postgres/postgres-settings.ts";
export { type DryRun, dryRun } from "./schema/dry-run.ts";
export type { Migration, MigrationFile } from "./schema/migration-files.ts";
export { type MigrationRisk, migrationRisks } from "./schema/migration-risks.ts";
export { type SqliteSettings, sqlite } from "./sqlite/sqlite.ts";
export { obstacle } from "./sqlite/sqlite-file.ts";
export { TABLE_NAME } from "./table-names.ts";
