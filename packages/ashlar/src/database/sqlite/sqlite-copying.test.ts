import { afterAll, beforeAll, expect, test } from "vitest";
import { sqlite, type TestDatabase } from "../../../test/support/services.ts";
import { sql } from "../index.ts";
import { SQLITE_COPYING } from "./sqlite-copying.ts";

let own: TestDatabase;
const run = async (text: string): Promise<Record<string, unknown>[]> =>
  (await sql.raw<Record<string, unknown>>(text).execute(own.database.kysely)).rows;

beforeAll(async () => {
  own = await sqlite.open();
  await run("create table items (id integer primary key, price integer)");
  await run("create table log (id integer primary key, price integer)");
  await run("create view shown as select * from items");
});
afterAll(() => own.drop());

test.each([
  "create trigger found after insert on items begin delete from log; end",
  "create trigger found insert on items begin delete from log; end",
  "CREATE TRIGGER found BEFORE INSERT ON ITEMS WHEN new.price > 1 BEGIN SELECT raise(ignore); END",
  'create trigger "found"insert\n\t\r\n on"items" begin delete from log; end',
  "create trigger if not exists found /* of a row */ after insert/* of one */on items begin delete from log; end",
  "create trigger main.found after insert -- of a row\non [items] for each row begin delete from log; end",
])("a trigger on inserts is listed with its table, however it is written: %s", async (trigger) => {
  await run(trigger);
  expect(await run(SQLITE_COPYING.triggers!)).toEqual([{ table: "items", name: "found", kind: "trigger" }]);
  await run("drop trigger found");
});

test.each([
  "create trigger other after update on items begin insert into log (price) values (new.price); end",
  "create trigger other before delete on items begin insert or replace into log (id) values (old.id); end",
  "create trigger other_insert after update of price on items begin delete from log; end",
  "create trigger other instead of insert on shown begin insert into items (price) values (new.price); end",
])("another trigger isn't listed: %s", async (trigger) => {
  await run(trigger);
  expect(await run(SQLITE_COPYING.triggers!)).toEqual([]);
  await run(`drop trigger ${/other\w*/.exec(trigger)![0]}`);
});
