import type { Connection, StoreTable } from "../../database/index.ts";
import type { Container } from "../../kernel/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import { createSessionDataTable, SESSION_DATA_TABLE } from "./session-data-table.ts";
import type { SessionStore, StoredSession } from "./session-store.ts";

const MAX_BYTES = 65_536;

/** A row as drivers return it: times as text or as a `Date`. */
interface Row {
  readonly data: string;
  readonly created_at: string | Date;
  readonly last_used_at: string | Date;
}

/**
 * Keeps session data in the table `session_data` of the application's database, up to 64 KB per session, so that a
 * login or a logout ends the previous session. `createSessionDataTable` creates the table.
 *
 * ```ts
 * // config/session.ts
 * export const SESSION = { store: databaseSessions() } satisfies SessionSettings;
 * ```
 *
 * Startup fails with `E_INVALID_CONFIGURATION` if there is no database, or no connection with that name.
 *
 * @param options `connection`: the connection's name in `config/database.ts`; default: the default connection
 */
export function databaseSessions({
  connection,
}: {
  readonly connection?: string;
} = {}): (container: Container) => SessionStore {
  return (container) => {
    const where = "config/session.ts: SESSION.store";
    if (container.has("database")) {
      const database = container.make("database");
      const used = database.connectionNamedBy(where, connection);
      const table = async () => {
        const { StoreTable } = await import("../../database/index.ts");
        return new StoreTable({
          where,
          name: SESSION_DATA_TABLE,
          database,
          connection: used,
          create: createSessionDataTable,
          logger: container.make("logger"),
        });
      };
      return new DatabaseSessions(used, table);
    }
    const remedy = "Add DatabaseProvider to PROVIDERS in config/providers.ts.";
    throw new ConfigurationError(where, "is the database, but the application has none.", remedy);
  };
}

/** Keeps sessions in the table `session_data`, one per row. */
export class DatabaseSessions implements SessionStore {
  readonly maxBytes: number = MAX_BYTES;
  readonly #connection: Connection;
  readonly #table: (() => Promise<StoreTable>) | null;

  /** @param table the table, if the application chooses its connection; called at boot */
  constructor(connection: Connection, table: (() => Promise<StoreTable>) | null = null) {
    this.#table = table;
    this.#connection = connection;
    connection.keepOnPrimary([SESSION_DATA_TABLE]);
  }

  /** Creates the table where migrations don't. */
  async connect(): Promise<void> {
    await (await this.#table?.())?.prepare();
  }

  async check(): Promise<void> {
    await (await this.#table?.())?.check();
  }

  async read(key: string): Promise<StoredSession | null> {
    const row = (await this.#connection.kysely
      .selectFrom(SESSION_DATA_TABLE)
      .select(["data", "created_at", "last_used_at"])
      .where("id", "=", key)
      .executeTakeFirst()) as Row | undefined;
    if (row === undefined) return null;
    const [createdAt, usedAt] = [new Date(row.created_at).getTime(), new Date(row.last_used_at).getTime()];
    return { createdAt, usedAt, contents: row.data };
  }

  async create(key: string, { createdAt, ...session }: StoredSession): Promise<void> {
    const row = { id: key, created_at: new Date(createdAt), ...changed(session) };
    await this.#connection.kysely.insertInto(SESSION_DATA_TABLE).values(row).execute();
  }

  async update(key: string, session: StoredSession): Promise<boolean> {
    const query = this.#connection.kysely.updateTable(SESSION_DATA_TABLE).set(changed(session)).where("id", "=", key);
    const { numUpdatedRows } = await query.executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async destroy(key: string): Promise<void> {
    await this.#connection.kysely.deleteFrom(SESSION_DATA_TABLE).where("id", "=", key).execute();
  }

  async prune(usedBefore: number, createdBefore: number): Promise<number> {
    // The database code is loaded only when it is used, because sessions in cookies don't need it.
    const { deleteInBatches } = await import("../../database/index.ts");
    const { kysely } = this.#connection;
    return deleteInBatches({ kysely, table: SESSION_DATA_TABLE, key: "id" }, (is) =>
      is.or([is("last_used_at", "<=", new Date(usedBefore)), is("created_at", "<=", new Date(createdBefore))]),
    );
  }

  /** Does nothing, because the database closes itself. */
  close(): void {}
}

function changed({ usedAt, contents }: Pick<StoredSession, "usedAt" | "contents">) {
  return { data: contents, last_used_at: new Date(usedAt) };
}
