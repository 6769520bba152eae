import {
  type AccessMode,
  ConnectionBuilder,
  DefaultQueryExecutor,
  type Driver,
  DummyDriver,
  type IsolationLevel,
  Kysely,
  type KyselyPlugin,
  type KyselyProps,
  type QueryExecutor,
  type QueryResult,
  Transaction,
  TransactionBuilder,
  WithSchemaPlugin,
} from "kysely";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { TransactionOptions } from "../dialect/dialect-transactions.ts";
import type { Executor, Row } from "../dialect/executor.ts";
import { portableAdapter } from "../dialect/portable-adapter.ts";
import type { QueryBuilder, Tables } from "../dialect/tables.ts";
import "../errors.ts";

/** The connection, as far as Kysely needs it. */
export interface Scopes {
  /** The executor for a query that is issued here and now. */
  readonly executor: Executor;
  transaction<T>(task: (trx: Transaction<Tables>) => MaybePromise<T>, options: TransactionOptions): Promise<T>;
  reserved<T>(task: () => MaybePromise<T>): Promise<T>;
}

/** A dialect as Kysely takes it. */
export type KyselyDialect = KyselyProps["dialect"];

/** Creates Kysely's form of a dialect, once for all of its queries and transactions. */
export function kyselyDialect(dialect: Dialect): KyselyDialect {
  const { values } = dialect;
  const adapter = portableAdapter(dialect);
  // Never asked for a connection: `propsFor` provides it, and the builders below begin the transactions.
  const driver: Driver = new DummyDriver();
  return {
    createAdapter: () => adapter,
    createDriver: () => driver,
    createIntrospector: (kysely) => values.introspector(kysely as Kysely<unknown>),
    createQueryCompiler: () => values.compiler,
  };
}

/** Kysely on a connection: a query issued inside a transaction runs in that transaction. */
export function scopedKysely(dialect: KyselyDialect, scopes: Scopes): QueryBuilder {
  return new ScopedKysely(
    scopes,
    propsFor(dialect, () => scopes.executor),
  );
}

/** Kysely's form of a transaction: bound to one executor, wherever it is used. */
export function boundTransaction(dialect: KyselyDialect, executor: Executor): Transaction<Tables> {
  return new Transaction<Tables>(propsFor(dialect, () => executor));
}

function propsFor(dialect: KyselyDialect, current: () => Executor): KyselyProps {
  const executor = new DefaultQueryExecutor(dialect.createQueryCompiler(), dialect.createAdapter(), {
    provideConnection: (consumer) => {
      const connection = current();
      return consumer({
        executeQuery: async <R>(query: Parameters<Executor["execute"]>[0]) =>
          (await connection.execute(query)) as QueryResult<Row> as QueryResult<R>,
        streamQuery: () => {
          throw new AshlarError("E_INVALID_QUERY", "Rows cannot be streamed. Read them in batches, with a limit.");
        },
      });
    },
  });
  return { config: { dialect }, dialect, driver: dialect.createDriver(), executor };
}

class ScopedKysely extends Kysely<Tables> {
  readonly #scopes: Scopes;
  readonly #props: KyselyProps;

  constructor(scopes: Scopes, props: KyselyProps) {
    super(props);
    this.#scopes = scopes;
    this.#props = props;
  }

  override transaction(): TransactionBuilder<Tables> {
    return new ScopedTransactionBuilder(this.#scopes, this.#props, {});
  }

  override connection(): ConnectionBuilder<Tables> {
    return new ScopedConnectionBuilder(this.#scopes, this.#props, this);
  }

  override startTransaction(): never {
    throw new AshlarError(
      "E_INVALID_QUERY",
      "A transaction without a function around it could be left open. Use database.transaction(async () => { … }).",
    );
  }

  /** Connections are closed by the database that they belong to. */
  override async destroy(): Promise<void> {}

  override withPlugin(plugin: KyselyPlugin): Kysely<Tables> {
    return this.#with(this.#props.executor.withPlugin(plugin));
  }

  override withoutPlugins(): Kysely<Tables> {
    return this.#with(this.#props.executor.withoutPlugins());
  }

  override withSchema(schema: string): Kysely<Tables> {
    return this.#with(this.#props.executor.withPluginAtFront(new WithSchemaPlugin(schema)));
  }

  // These only change the type.
  override withTables(): never {
    return this as never;
  }
  override $extendTables(): never {
    return this as never;
  }
  override $omitTables(): never {
    return this as never;
  }
  override $pickTables(): never {
    return this as never;
  }

  #with(executor: QueryExecutor): Kysely<Tables> {
    return new ScopedKysely(this.#scopes, { ...this.#props, executor });
  }
}

class ScopedTransactionBuilder extends TransactionBuilder<Tables> {
  readonly #scopes: Scopes;
  readonly #props: KyselyProps;
  readonly #options: TransactionOptions;

  constructor(scopes: Scopes, props: KyselyProps, options: TransactionOptions) {
    super(props);
    this.#scopes = scopes;
    this.#props = props;
    this.#options = options;
  }

  override setAccessMode(mode: AccessMode): TransactionBuilder<Tables> {
    return new ScopedTransactionBuilder(this.#scopes, this.#props, {
      ...this.#options,
      readOnly: mode === "read only",
    });
  }

  override setIsolationLevel(isolation: IsolationLevel): TransactionBuilder<Tables> {
    return new ScopedTransactionBuilder(this.#scopes, this.#props, { ...this.#options, isolation });
  }

  override execute<T>(callback: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
    const { plugins } = this.#props.executor;
    return this.#scopes.transaction(
      (trx) => callback(plugins.reduce<Transaction<Tables>>((made, plugin) => made.withPlugin(plugin), trx)),
      this.#options,
    );
  }
}

class ScopedConnectionBuilder extends ConnectionBuilder<Tables> {
  readonly #scopes: Scopes;
  readonly #kysely: Kysely<Tables>;

  constructor(scopes: Scopes, props: KyselyProps, kysely: Kysely<Tables>) {
    super(props);
    this.#scopes = scopes;
    this.#kysely = kysely;
  }

  override execute<T>(callback: (kysely: Kysely<Tables>) => Promise<T>): Promise<T> {
    return this.#scopes.reserved(() => callback(this.#kysely));
  }
}
