import { type RawBuilder, sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { MigrationFolder } from "../../../test/support/migration-folder.ts";
import { mariadb, onMariadb, onPostgres, postgres, type TestEngine } from "../../../test/support/services.ts";
import { AshlarError } from "../../support/index.ts";
import type { Connection } from "../connections/connection.ts";
import type { Database } from "../connections/database.ts";
import { LockWaits } from "./lock-waits.ts";
import type { MigrateOptions } from "./migrations.ts";

const FIRST = "2026_01_01_000000_first";
const SECOND = "2026_01_02_000000_second";

/** A migration that changes two tables: one that is free, and one that another connection may have locked. */
const CHANGES = `
  export async function up(database) {
    await database.schema.alterTable("free").addColumn("added", "integer").execute();
    await database.schema.alterTable("locked").addColumn("added", "integer").execute();
  }
  export const down = async () => {};`;

interface Opened {
  readonly database: Database;
  readonly folder: MigrationFolder;
}

async function opened(engine: TestEngine): Promise<Opened> {
  const { database, drop } = await engine.open();
  const folder = new MigrationFolder(database, { [FIRST]: CHANGES });
  onTestFinished(async () => {
    folder.remove();
    await drop();
  });
  for (const table of ["free", "locked"]) {
    await database.kysely.schema.createTable(table).addColumn("n", "integer").execute();
  }
  return { database, folder };
}

/** Begins a transaction that uses a table, and keeps its locks until the returned function is called. */
async function using({ database }: Opened, statement: RawBuilder<unknown>) {
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transaction = database.connection().transaction(async () => {
    await statement.execute(database.kysely);
    begun.resolve();
    await ended.promise;
  });
  await begun.promise;
  return async () => {
    ended.resolve();
    await transaction;
  };
}

const reading = (shop: Opened, table: string) => using(shop, sql`select * from ${sql.table(table)}`);
const read = ({ database }: Opened, table: string) => sql`select * from ${sql.table(table)}`.execute(database.kysely);

function define(engine: TestEngine, options: MigrateOptions): void {
  test("S152 a migration that waits for a table lets others use it in the meantime, and changes it once it is free", async () => {
    const shop = await opened(engine);
    const end = await reading(shop, "locked");
    const pauses: number[] = [];
    const waiting = (attempts: number, pauseMs: number, migration: string) => {
      expect(migration).toBe(FIRST);
      pauses.push(pauseMs);
      // During the pause, both queued and new statements run.
      void read(shop, "locked").then(() => (attempts === 2 ? end() : null));
    };
    expect(await shop.folder.migrations.up({ ...options, waiting })).toEqual([FIRST]);
    expect(pauses.length).toBeGreaterThanOrEqual(2);
    expect(pauses[1]).toBe(2 * pauses[0]!);
    // Each statement has run once.
    for (const table of ["free", "locked"]) {
      await sql`select added from ${sql.table(table)}`.execute(shop.database.kysely);
    }
    expect((await shop.folder.migrations.status()).map(({ state }) => state)).toEqual(["run"]);
  });

  test("later statements wait for locks as long as before", async () => {
    const shop = await opened(engine);
    const variable = engine === postgres ? sql`show lock_timeout` : sql`select @@session.lock_wait_timeout`;
    const limit = async (): Promise<unknown> => (await variable.execute(shop.database.kysely)).rows;
    // On the migration's connection.
    const [before, after] = await shop.database.connection().maintenance.withMigrationLock(async () => {
      return [await limit(), await shop.folder.migrations.up(options).then(limit)];
    });
    expect(after).toEqual(before);
  });
}

/** A connection on which each attempt fails, and a record of its statements. */
function lockedConnection({ limitsLockWaits = true } = {}) {
  const events: string[] = [];
  const connection = {
    maintenance: { limitsLockWaits, limitLockWaits: async () => {} },
    dialect: { maintenance: { schemaIsTransactional: true } },
    transaction: async () => {
      events.push("attempt");
      throw new AshlarError("E_DATABASE_BUSY", "The table is locked.");
    },
  };
  return { connection: connection as unknown as Connection, events };
}

test("between two attempts, others have the time of the pause, which grows to up to two and a half times the wait", async () => {
  const { connection, events } = lockedConnection();
  const pauses: number[] = [];
  const waits = new LockWaits(connection, 8, (_, pauseMs) => {
    pauses.push(pauseMs);
    // This timer fires before the pause is over, however busy the machine is.
    setTimeout(() => events.push("another"), pauseMs / 2);
  });
  await expect(waits.transaction(async () => {})).rejects.toMatchObject({ code: "E_MIGRATION" });
  expect(events).toEqual([...Array.from({ length: 11 }, () => ["attempt", "another"]).flat(), "attempt"]);
  expect(pauses).toEqual([4, 8, 12, 16, 20, 20, 20, 20, 20, 20, 20]);
});

test("if waits have no limit, a failure is final, and isn't retried", async () => {
  const { connection, events } = lockedConnection({ limitsLockWaits: false });
  const waits = new LockWaits(connection, 8, () => events.push("waiting"));
  await expect(waits.transaction(async () => {})).rejects.toMatchObject({ code: "E_DATABASE_BUSY" });
  expect(events).toEqual(["attempt"]);
});

await onPostgres("locks that a migration waits for", () => {
  define(postgres, { lockTimeoutMs: 50 });

  test("S152 a migration keeps no lock while it pauses", async () => {
    const shop = await opened(postgres);
    const end = await reading(shop, "locked");
    let hasRead = false;
    const waiting = async () => {
      // The first statement has already changed this table.
      await read(shop, "free");
      hasRead = true;
      await end();
    };
    await shop.folder.migrations.up({ lockTimeoutMs: 50, waiting: () => void waiting() });
    expect(hasRead).toBe(true);
  });

  test("S152 rolling back waits in the same way", async () => {
    const shop = await opened(postgres);
    await shop.folder.write(
      FIRST,
      `export const up = (database) => database.schema.alterTable("locked").addColumn("added", "integer").execute();
       export const down = (database) => database.schema.alterTable("locked").dropColumn("added").execute();`,
    );
    await shop.folder.migrations.up();
    const end = await reading(shop, "locked");
    let waited = 0;
    const waiting = () => {
      waited++;
      void end();
    };
    expect(await shop.folder.migrations.rollback({ lockTimeoutMs: 50, waiting })).toEqual([FIRST]);
    expect(waited).toBeGreaterThanOrEqual(1);
  });

  test("it gives up in the end, reports how long it tried, and leaves nothing behind", async () => {
    const shop = await opened(postgres);
    const end = await reading(shop, "locked");
    const error = await shop.folder.migrations.up({ lockTimeoutMs: 5 }).catch((caught: unknown) => caught);
    await end();
    expect(error).toMatchObject({ code: "E_MIGRATION" });
    expect(String(error)).toContain(
      "nothing of it remains. A lock couldn't be had in 12 attempts of 5 ms each, because another connection holds it.",
    );
    expect(await shop.folder.migrations.pending()).toEqual([FIRST]);
    await expect(sql`select added from free`.execute(shop.database.kysely)).rejects.toThrow("added");
  });

  test("a migration without a transaction waits as long as necessary, because it would leave something behind", async () => {
    const shop = await opened(postgres);
    await shop.folder.write(
      SECOND,
      `import { type RawBuilder, sql } from "kysely";
       export const transaction = false;
       export const up = (database) => sql\`create index concurrently locked_n on locked (n)\`.execute(database);
       export const down = async () => {};`,
    );
    await shop.folder.write(FIRST, "export const up = async () => {}; export const down = up;");
    const end = await using(shop, sql`insert into locked (n) values (1)`);
    // The migration waits for the transaction as long as necessary.
    const migrated = shop.folder.migrations.up({ lockTimeoutMs: 1 });
    const waits = async () => {
      const { rows } = await sql<{ n: number }>`
        select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like 'create index%'
          and datname = current_database()`.execute(shop.database.kysely);
      return rows[0]!.n;
    };
    await expect.poll(waits, { timeout: 60_000 }).toBe(1);
    await end();
    expect(await migrated).toEqual([FIRST, SECOND]);
  });
});

await onMariadb("locks that a migration waits for", () => {
  // The shortest wait that MariaDB supports.
  define(mariadb, { lockTimeoutMs: 1000 });

  test("a retried statement counts once in a failed migration's report", async () => {
    const shop = await opened(mariadb);
    await shop.folder.write(
      FIRST,
      `import { sql } from "kysely";
       export async function up(database) {
         await database.schema.alterTable("locked").addColumn("added", "integer").execute();
         await sql\`alter table nowhere add column n integer\`.execute(database);
       }
       export const down = async () => {};`,
    );
    const end = await reading(shop, "locked");
    let waited = 0;
    const waiting = () => {
      waited++;
      void end();
    };
    const error = await shop.folder.migrations.up({ lockTimeoutMs: 1000, waiting }).catch((caught: unknown) => caught);
    expect(waited).toBeGreaterThanOrEqual(1);
    expect(String(error)).toContain(
      'It ran: alter table "locked" add column "added" integer. This failed: alter table nowhere',
    );
  });
});
