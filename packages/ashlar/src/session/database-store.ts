import type { Database } from "../database/index.ts";
import { digest } from "../security/index.ts";
import type { SessionRecord, SessionStore } from "./session-store.ts";

/** The table of session data. (`sessions` is that of the devices that are logged in.) */
export const SESSION_DATA_TABLE = "session_data";

const MAX_BYTES = 65_536;
const ID = /^[\w-]{43}$/;

/** A row, as drivers give it: moments as text or as a `Date`. */
interface Row {
  readonly data: string;
  readonly created_at: string | Date;
  readonly last_used_at: string | Date;
}

/**
 * Keeps sessions in the table `session_data`, one row for each, under the digest of the id that the cookie carries: a
 * leaked table opens no session.
 *
 * A request that changes nothing writes nothing. Of two requests at once that both change the session, the one that is
 * done last is kept. A session that ended meanwhile is not brought back.
 */
export class DatabaseSessionStore implements SessionStore {
  readonly isRemote = true;
  readonly maxBytes: number = MAX_BYTES;
  readonly remedy = "Keep what is large in a table of its own, and in the session what finds it there.";
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(cookie: string): Promise<SessionRecord | null> {
    if (!ID.test(cookie)) return null;
    const row = (await this.#database.kysely
      .selectFrom(SESSION_DATA_TABLE)
      .select(["data", "created_at", "last_used_at"])
      .where("id", "=", digest(cookie))
      .executeTakeFirst()) as Row | undefined;
    if (row === undefined) return null;
    const [createdAt, usedAt] = [new Date(row.created_at).getTime(), new Date(row.last_used_at).getTime()];
    return { id: cookie, createdAt, usedAt, contents: row.data };
  }

  cookieFor(record: SessionRecord): string {
    return record.id;
  }

  async save(record: SessionRecord, previous: SessionRecord | null): Promise<boolean> {
    const { kysely } = this.#database;
    const key = digest(record.id);
    const changed = { data: record.contents, last_used_at: new Date(record.usedAt) };
    if (previous?.id === record.id) {
      // Never an insert: it would bring back what a request at the same time has ended.
      const query = kysely.updateTable(SESSION_DATA_TABLE).set(changed).where("id", "=", key);
      const { numUpdatedRows } = await query.executeTakeFirst();
      return numUpdatedRows > 0n;
    }
    const row = { id: key, created_at: new Date(record.createdAt), ...changed };
    await kysely.insertInto(SESSION_DATA_TABLE).values(row).execute();
    if (previous !== null) await this.remove(previous);
    return true;
  }

  async remove(record: SessionRecord): Promise<void> {
    await this.#database.kysely.deleteFrom(SESSION_DATA_TABLE).where("id", "=", digest(record.id)).execute();
  }

  async prune(usedBefore: number, createdBefore: number): Promise<number> {
    // The database is loaded where there is one; sessions in cookies need none.
    const { deleteInBatches } = await import("../database/index.ts");
    const { kysely } = this.#database;
    return deleteInBatches({ kysely, table: SESSION_DATA_TABLE, key: "id" }, (is) =>
      is.or([is("last_used_at", "<=", new Date(usedBefore)), is("created_at", "<=", new Date(createdBefore))]),
    );
  }
}
