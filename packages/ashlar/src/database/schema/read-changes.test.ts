import { describe, expect, test } from "vitest";
import { readChanges } from "./read-changes.ts";

/** Only the properties that aren't `null` or empty. */
const read = (sql: string) =>
  readChanges(sql).map(({ sql: _, columns: __, ...change }) =>
    Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null && value !== "")),
  );

describe("the changes that a statement makes", () => {
  test.each([
    ['create table "orders" ("id" bigint)', { kind: "createTable", table: "orders" }],
    ["create unlogged table if not exists shop.orders (id int)", { kind: "createTable", table: "orders" }],
    ["drop table if exists `orders`", { kind: "dropTable", table: "orders" }],
    ["drop table größen", { kind: "dropTable", table: "größen" }],
    [
      'alter table "orders" add column "phone" varchar(40) not null',
      { kind: "addColumn", table: "orders", name: "phone", definition: "varchar ( 40 ) not null" },
    ],
    [
      "ALTER TABLE IF EXISTS ONLY public.orders ADD IF NOT EXISTS phone text DEFAULT 'not null'",
      { kind: "addColumn", table: "orders", name: "phone", definition: "text default ''" },
    ],
    [
      'alter table "orders" drop column "not null"',
      { kind: "dropColumn", table: "orders", name: "not null", definition: 'drop column ""' },
    ],
    [
      "alter table orders drop constraint orders_key",
      { kind: "dropConstraint", table: "orders", definition: "drop constraint orders_key" },
    ],
    [
      'alter table "orders" rename column "sum" to "total"',
      { kind: "renameColumn", table: "orders", name: "sum", newName: "total", definition: 'rename column "" to ""' },
    ],
    ["alter table orders rename to purchases", { kind: "renameTable", table: "orders", newName: "purchases" }],
    ["rename table orders to purchases", { kind: "renameTable", table: "orders", newName: "purchases" }],
    [
      "alter table orders alter column total set data type numeric(12, 2)",
      { kind: "changeType", table: "orders", name: "total", definition: "set data type numeric ( 12 , 2 )" },
    ],
    [
      "alter table orders modify column total bigint, lock = none",
      { kind: "changeType", table: "orders", name: "total", definition: "bigint lock = none" },
    ],
    [
      "alter table orders alter total set not null",
      { kind: "setNotNull", table: "orders", name: "total", definition: "alter total set not null" },
    ],
    [
      'alter table "orders" add constraint "one" unique ("number")',
      { kind: "addUnique", table: "orders", name: "one", definition: 'add constraint "" unique ( "" )' },
    ],
    [
      "alter table orders add foreign key (user_id) references users (id) not valid",
      {
        kind: "addForeignKey",
        table: "orders",
        definition: "add foreign key ( user_id ) references users ( id ) not valid",
      },
    ],
    [
      "alter table orders validate constraint one",
      { kind: "validate", table: "orders", name: "one", definition: "validate constraint one" },
    ],
    [
      'create unique index concurrently if not exists "one" on "orders" ("number")',
      {
        kind: "createIndex",
        table: "orders",
        name: "one",
        definition: 'create unique index concurrently if not exists "" on "" ( "" )',
      },
    ],
    [
      "create index on only orders (a)",
      { kind: "createIndex", table: "orders", definition: "create index on only orders ( a )" },
    ],
    [
      "create index one using btree on orders (a)",
      { kind: "createIndex", table: "orders", name: "one", definition: "create index one using btree on orders ( a )" },
    ],
    [
      "alter table orders add fulltext index words (note)",
      { kind: "createIndex", table: "orders", definition: "add fulltext index words ( note )" },
    ],
    ["alter table orders engine = innodb", { kind: "rewriteTable", table: "orders", definition: "engine = innodb" }],
    ["update orders set total = 0", { kind: "writeRows", table: "orders", definition: "update orders set total = 0" }],
    [
      "/* first */ delete from orders -- where id = 1",
      { kind: "writeRows", table: "orders", definition: "delete from orders" },
    ],
  ])("%s", (sql, change) => {
    expect(read(sql)).toEqual([change]);
  });

  test("several changes of one statement, and several statements", () => {
    const sql = `alter table orders add (a int, b decimal(4, 2) not null), change c d int, algorithm = instant;
      drop table x, y;`;
    expect(read(sql)).toEqual([
      { kind: "addColumn", table: "orders", name: "a", definition: "int algorithm = instant" },
      { kind: "addColumn", table: "orders", name: "b", definition: "decimal ( 4 , 2 ) not null algorithm = instant" },
      {
        kind: "renameColumn",
        table: "orders",
        name: "c",
        newName: "d",
        definition: "change c d int algorithm = instant",
      },
      { kind: "changeType", table: "orders", name: "c", definition: "int algorithm = instant" },
      { kind: "dropTable", table: "x" },
      { kind: "dropTable", table: "y" },
    ]);
  });

  test("each as SQL, with the columns that are only named", () => {
    const sql =
      'create index "One" on "orders" ("a", lower("b")); alter table orders add constraint c foreign key (a, "B") references users ("id"), add d text default \'it\'\'s\'';
    expect(readChanges(sql).map((change) => [change.sql, change.columns])).toEqual([
      ['create index "One" on "orders" ("a", lower("b"))', []],
      ['add constraint c foreign key (a, "B") references users ("id")', ["a", "B"]],
      ["add d text default 'it''s'", []],
    ]);
  });

  test.each([
    "select * from orders",
    "insert into orders (note) values ('; drop table orders')",
    "update orders set total = 0 where id = 1",
    "create temporary table orders (id int)",
    "do $body$ begin drop table orders; end $body$",
    "create view a as select 1",
    "comment on table orders is 'drop table orders'",
    "",
    ";",
    "alter table",
    "alter sequence a restart",
    "create index",
  ])("nothing: %s", (sql) => {
    expect(readChanges(sql)).toEqual([]);
  });
});
