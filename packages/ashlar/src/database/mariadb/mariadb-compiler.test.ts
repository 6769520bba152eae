import { DummyDriver, Kysely, MysqlAdapter, MysqlIntrospector, sql } from "kysely";
import { expect, test } from "vitest";
import { MariadbCompiler } from "./mariadb-compiler.ts";

// biome-ignore lint/suspicious/noExplicitAny: any tables.
const kysely = new Kysely<any>({
  dialect: {
    createAdapter: () => new MysqlAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (given) => new MysqlIntrospector(given),
    createQueryCompiler: () => new MariadbCompiler(),
  },
});

const BYTE_BY_BYTE =
  "character set utf8mb4 /*M!100200 collate utf8mb4_nopad_bin */ /*!80017 collate utf8mb4_0900_bin */";

test("a new table's text compares byte by byte, and references are constraints, which MySQL would ignore at a column", () => {
  const { sql: text } = kysely.schema
    .createTable("notes")
    .addColumn("text", "varchar(20)")
    .addColumn("person_id", "bigint", (column) => column.notNull().references("people.id").onDelete("cascade"))
    .compile();
  expect(text).toBe(
    'create table "notes" ("text" varchar(20), "person_id" bigint not null, foreign key ("person_id") ' +
      `references "people" ("id") on delete cascade) engine=InnoDB ${BYTE_BY_BYTE}`,
  );
});

test.each(["collate utf8mb4_german2_ci", "default charset=latin1", "CHARACTER SET latin1"])(
  "a table whose author has chosen how text compares stays so: %s",
  (choice) => {
    const table = kysely.schema.createTable("notes").addColumn("text", "varchar(20)").modifyEnd(sql.raw(choice));
    expect(table.compile().sql).toBe(`create table "notes" ("text" varchar(20)) engine=InnoDB ${choice}`);
  },
);

test.each(["engine = memory", "ENGINE=MyISAM"])("a table whose author has chosen an engine keeps it: %s", (choice) => {
  const table = kysely.schema.createTable("hits").addColumn("n", "integer").modifyEnd(sql.raw(choice));
  expect(table.compile().sql).toBe(`create table "hits" ("n" integer) ${BYTE_BY_BYTE} ${choice}`);
});

test("an added column's reference is a constraint too", () => {
  const added = kysely.schema
    .alterTable("notes")
    .addColumn("person_id", "bigint", (column) => column.references("people.id"));
  expect(added.compile().sql).toBe(
    'alter table "notes" add column "person_id" bigint, add foreign key ("person_id") references "people" ("id")',
  );
});

test("a row of defaults, and names with quotes", () => {
  expect(kysely.insertInto("notes").defaultValues().compile().sql).toBe('insert into "notes" () values ()');
  expect(kysely.selectFrom('a"b').select("c`d").compile().sql).toBe('select "c`d" from "a""b"');
  expect(kysely.selectFrom('"a"').select("n").compile().sql).toBe('select "n" from """a"""');
});
