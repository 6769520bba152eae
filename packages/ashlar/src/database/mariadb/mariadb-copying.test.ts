import { afterAll, beforeAll, expect, test } from "vitest";
import { mariadb, onMariadb, type TestDatabase } from "../../../test/support/services.ts";
import { sql } from "../index.ts";
import { MARIADB_COPYING } from "./mariadb-copying.ts";

/** The column types, by the type that copying reports for them. */
const TYPES = {
  integer: ["tinyint", "smallint", "mediumint", "int", "bigint", "boolean", "bigint unsigned"],
  decimal: ["decimal(12, 2)", "numeric(3, 1)"],
  real: ["float", "double"],
  text: ["char(3)", "varchar(40)", "tinytext", "text", "mediumtext", "longtext", "json"],
  binary: ["binary(3)", "varbinary(40)", "tinyblob", "blob", "mediumblob", "longblob"],
  time: ["datetime(3)", "timestamp null"],
  other: ["date", "time", "year", "bit(3)", "enum('a', 'b')", "uuid"],
} as const;

await onMariadb("what MariaDB says about its tables", () => {
  let own: TestDatabase;
  let other: TestDatabase;
  const run = async (text: string, { database } = own): Promise<Record<string, unknown>[]> =>
    (await sql.raw<Record<string, unknown>>(text).execute(database.kysely)).rows;

  beforeAll(async () => {
    [own, other] = [await mariadb.open(), await mariadb.open()];
    const types = Object.values(TYPES).flat();
    await run(`create table every_type (${types.map((type, n) => `c${n} ${type}`).join()})`);
    await run(`create table pairs (note varchar(5), b integer, id bigint not null auto_increment, a integer,
      twice integer as (a * 2), primary key (id, a), unique index by_b (b, a))`);
    await run(`create table refs (pair_id bigint, a integer,
      constraint refs_pair foreign key (pair_id, a) references pairs (id, a))`);
    await run('create table "o""dd" (id integer auto_increment primary key)');
    await run("create view shown as select a from pairs");
    await run("create sequence numbers");
    // The other database has different objects with the same names.
    await run("create table pairs (note varchar(99) primary key, more integer)", other);
    await run("create table refs (a integer primary key)", other);
    await run("create table only_there (n integer auto_increment primary key)", other);
    await run("create view shown_there as select * from pairs", other);
    await run("create trigger there after insert on pairs for each row delete from refs", other);
  });
  afterAll(() => Promise.all([own.drop(), other.drop()]));

  test("every column type can be copied", async () => {
    const columns = (await run(MARIADB_COPYING.columns)).filter(({ table }) => table === "every_type");
    const expected = Object.entries(TYPES).flatMap(([type, names]) => names.map((name) => [name, type]));
    expect(columns.map(({ type }, n) => [Object.values(TYPES).flat()[n], type])).toEqual(expected);
    const lengths = columns.flatMap(({ name, length }) => (length === null ? [] : [[name, Number(length)]]));
    expect(lengths).toEqual([
      ["c11", 3],
      ["c12", 40],
    ]);
  });

  test("each column has its place in its own table's key, is auto-incremented or not, and can be set or not", async () => {
    const columns = (await run(MARIADB_COPYING.columns)).filter(({ table }) => table !== "every_type");
    expect(
      columns.map(({ table, name, place, counted, computed }) => [
        `${String(table)}.${String(name)}`,
        ...[place, counted, computed].map(Number),
      ]),
    ).toEqual([
      ['o"dd.id', 1, 1, 0],
      ["pairs.note", 0, 0, 0],
      ["pairs.b", 0, 0, 0],
      ["pairs.id", 1, 1, 0],
      ["pairs.a", 2, 0, 0],
      ["pairs.twice", 0, 0, 1],
      ["refs.pair_id", 0, 0, 0],
      ["refs.a", 0, 0, 0],
    ]);
  });

  test("a reference has its columns in order, beside those that they refer to", async () => {
    const reference = { name: "refs_pair", table: "refs", parent: "pairs", deferrable: 1 };
    expect(await run(MARIADB_COPYING.references)).toEqual([
      { ...reference, column: "pair_id", parent_column: "id" },
      { ...reference, column: "a", parent_column: "a" },
    ]);
  });

  test("views and sequences are not tables", async () => {
    expect(await run(MARIADB_COPYING.others)).toEqual([
      { name: "numbers", kind: "sequence" },
      { name: "shown", kind: "view" },
    ]);
  });

  test("triggers on inserts are listed with their tables", async () => {
    await run('create trigger before_odd before insert on "o""dd" for each row set new.id = 7');
    for (const event of ["insert", "update", "delete"]) {
      await run(`create trigger after_${event} after ${event} on refs for each row insert into pairs (a) values (1)`);
    }
    expect(await run(MARIADB_COPYING.triggers!)).toEqual([
      { table: 'o"dd', name: "before_odd", kind: "trigger" },
      { table: "refs", name: "after_insert", kind: "trigger" },
    ]);
    // In the next test, the trigger would change a row's key.
    await run("drop trigger before_odd");
  });

  test("an auto-increment table has its last key, and continues after a given key", async () => {
    const last = async () => (await run(MARIADB_COPYING.lastKeys)).map((row) => [row.table, row.last]).sort();
    expect(await last()).toEqual([
      ['o"dd', "0"],
      ["pairs", "0"],
    ]);
    for (const statement of MARIADB_COPYING.keysAfter('o"dd', "id", 41n)) await run(statement);
    await run("insert into pairs (a) values (1), (2)");
    await run("delete from pairs");
    expect(await last()).toEqual([
      ['o"dd', "41"],
      ["pairs", "2"],
    ]);
    await run('insert into "o""dd" () values ()');
    expect(await run('select id from "o""dd"')).toEqual([{ id: 42 }]);
  });
});
