import type {
  ColumnDataType,
  ColumnDefinitionBuilder,
  CompiledQuery,
  DatabaseIntrospector,
  DialectAdapter,
  Expression,
  IsolationLevel,
  Kysely,
  QueryCompiler,
  QueryResult,
} from "kysely";
import type { AshlarError, MaybePromise } from "../support/index.ts";

/** The databases there is a dialect for. */
export type DialectName = "sqlite" | "postgres";

/** A value that a column can be compared with. */
export type ColumnValue = string | number | bigint | boolean | Date | Uint8Array | null;

/** A row as the database gave it. */
export type Row = { [column: string]: unknown };

/** How a transaction is begun. */
export interface TransactionOptions {
  /** How far it is kept apart from the others; the database's default where left out. SQLite is always `serializable`. */
  readonly isolation?: IsolationLevel;
  /** Whether it only reads. */
  readonly readOnly?: boolean;
}

/** What statements run on. Errors come out as those of `errors.ts`, on every dialect. */
export interface Session {
  /** Runs a compiled statement. */
  execute(query: CompiledQuery): MaybePromise<QueryResult<Row>>;
  /** Runs a statement with one parameter, and gives the first row: the way of `find`, as short as it can be. */
  first(sql: string, value: ColumnValue): MaybePromise<Row | undefined>;
}

/** A connection of the database, as the one who has it to himself sees it. */
export interface OwnSession extends Session {
  /** The error of the latest statement that the database refused; set back by what begins or ends a transaction. */
  failure: AshlarError | null;
}

/** A session of one's own, until it is released. */
export interface Reservation {
  readonly session: OwnSession;
  /** @param broken whether the connection is in an unknown state and must not be used again */
  release(broken: boolean): void;
}

/** How columns that differ from one database to the next are declared. */
export interface ColumnTypes {
  readonly primaryKey: {
    readonly type: ColumnType;
    readonly define: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder;
  };
  /** The type of a column that refers to a primary key. */
  readonly reference: ColumnType;
  readonly timestamp: ColumnType;
  readonly json: ColumnType;
  /** The current time, as the default of a timestamp column. */
  readonly now: Expression<unknown>;
}

/** A column's type as Kysely takes it. */
export type ColumnType = ColumnDataType | Expression<unknown>;

/** Kysely's adapter, with the column types of the dialect: what a migration can reach from its `Kysely`. */
export type PortableAdapter = DialectAdapter & { readonly columnTypes: ColumnTypes };

/** Everything that differs from one database to the next. There is one file for each, in `dialects/`. */
export interface Dialect {
  readonly name: DialectName;
  /** Whether JSON columns come out of the driver parsed. */
  readonly parsesJson: boolean;
  readonly adapter: PortableAdapter;
  readonly compiler: QueryCompiler;
  introspector(kysely: Kysely<unknown>): DatabaseIntrospector;

  /** Opens the database now instead of at the first statement, so that a mistake shows at boot. */
  connect(): Promise<void>;
  /** Runs each statement on whatever connection is free, outside of any transaction. */
  readonly shared: Session;
  /** Sets a connection aside. */
  reserve(): MaybePromise<Reservation>;
  begin(session: Session, options: TransactionOptions): MaybePromise<void>;
  commit(session: OwnSession): MaybePromise<void>;
  /** @param savepoint the one to roll back to and release; `null` for the whole transaction */
  rollback(session: Session, savepoint: string | null): MaybePromise<void>;

  /**
   * Lets tables be rebuilt from here on: dropping one takes no rows of others along. Called outside of a transaction.
   */
  suspendForeignKeys(session: Session): MaybePromise<void>;
  /**
   * Checks what was not checked meanwhile.
   *
   * @throws `E_FOREIGN_KEY_VIOLATION` that names tables and rows
   */
  checkForeignKeys(session: Session): MaybePromise<void>;
  /** Ends what {@link suspendForeignKeys} began. */
  resumeForeignKeys(session: Session): MaybePromise<void>;
  /**
   * Waits until no other process runs migrations. What has the lock can take it again, and unlocks as often.
   *
   * @throws `E_MIGRATION` where there is an end to the wait
   */
  lockMigrations(session: Session): MaybePromise<void>;
  unlockMigrations(session: Session): MaybePromise<void>;
  /** Drops every table, view and type of the database. */
  dropEverything(session: Session): MaybePromise<void>;

  /** Waits for what is under way, and lets go of every connection. */
  close(): Promise<void>;
}

/** Is told each statement before it runs, without its values. */
export interface Observer {
  notify: ((sql: string) => void) | null;
}
