import { createConnection, type RowDataPacket } from "mysql2/promise";
import { expect, onTestFinished, test } from "vitest";
import { sql } from "../../src/database/index.ts";
import { testApi } from "../support/api-application.ts";
import { MARIADB } from "../support/mariadb-databases.ts";
import { mariadb, onMariadb } from "../support/services.ts";

await onMariadb("what MariaDB refuses because of another transaction", () => {
  test("if two lock the same rows in opposite order, one is repeated, and both complete", async () => {
    const own = await mariadb.open();
    onTestFinished(() => own.drop());
    const { database } = own;
    await sql`create table counters (id integer primary key, n integer not null)`.execute(database.kysely);
    await sql`insert into counters values (1, 0), (2, 0)`.execute(database.kysely);
    const both = Promise.withResolvers<void>();
    let holders = 0;
    const raise = (id: number) => sql`update counters set n = n + 1 where id = ${id}`.execute(database.kysely);
    const change = (first: number, second: number, retries: number) =>
      database.transaction(
        async () => {
          await raise(first);
          if (++holders === 2) both.resolve();
          await both.promise;
          await raise(second);
        },
        { retries },
      );
    await Promise.all([change(1, 2, 1), change(2, 1, 1)]);
    const { rows } = await sql`select n from counters order by id`.execute(database.kysely);
    expect([holders, rows]).toEqual([3, [{ n: 2 }, { n: 2 }]]);
  });

  test("of 120 parallel renewals of a token, one creates a new one, all get it, and none fails", async () => {
    const api = await testApi({ engine: mariadb, settings: { acquireTimeoutMs: 600_000, statementTimeoutMs: 0 } });
    const token = await api.token();
    const { rows: named } = await sql<{ name: string }>`select database() as name`.execute(api.database.kysely);
    const holder = await createConnection({ ...MARIADB, database: named[0]!.name });
    onTestFinished(() => holder.end());
    await holder.query("begin");
    await holder.query("select * from users for update");
    const sent = Array.from({ length: 120 }, () => api.post("/api/reauth", { token }));
    // All renewals that have a connection wait for the row.
    await expect
      .poll(async () => {
        const [rows] = await holder.query<RowDataPacket[]>(
          `select count(*) as n from information_schema.processlist
            where db = database() and id <> connection_id() and command <> 'Sleep'`,
        );
        return rows[0]!.n;
      })
      .toBeGreaterThan(5);
    await holder.query("commit");
    const answers = await Promise.all(sent);
    expect(answers.map(({ status }) => status)).toEqual(Array(120).fill(200));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(await api.toldOf("api.token_renewed")).toHaveLength(1);
  });
});
