import { afterEach, beforeEach, expect, test } from "vitest";
import { onPostgres, postgres, type TestDatabase } from "../../../test/support/services.ts";
import { sql } from "../index.ts";
import { POSTGRES_COPYING } from "./postgres-copying.ts";

await onPostgres("what PostgreSQL says about its triggers", () => {
  let own: TestDatabase;
  const run = async (text: string): Promise<Record<string, unknown>[]> =>
    (await sql.raw<Record<string, unknown>>(text).execute(own.database.kysely)).rows;
  const trigger = (name: string, event: string, level = "row") =>
    run(`create trigger ${name} ${event} for each ${level} execute function nothing()`);
  const found = async () =>
    (await run(POSTGRES_COPYING.triggers!)).map(({ table, name, kind }) => `${table}: ${name}, ${kind}`);

  beforeEach(async () => {
    own = await postgres.open();
    await run("create function nothing() returns trigger language plpgsql as 'begin return null; end'");
    await run('create table "Items" (id integer primary key)');
    // Foreign keys have internal triggers too.
    await run('create table refs (id integer references "Items" (id))');
    await run("create view shown as select id from refs");
    await run("create schema there");
    await run("create table there.refs (id integer)");
    await run("create table parts (id integer) partition by range (id)");
    await run("create table there.part partition of parts for values from (1) to (9)");
  });
  afterEach(() => own.drop());

  test("triggers on inserts are listed with their tables, and so are rules", async () => {
    await trigger("for_rows", 'after insert or update on "Items"');
    await trigger("for_statements", 'before insert on "Items"', "statement");
    await run(`create constraint trigger deferred after insert on refs deferrable initially deferred
      for each row execute function nothing()`);
    await run("create rule also as on insert to refs do also delete from there.refs");
    const told = [
      "Items: for_rows, trigger",
      "Items: for_statements, trigger",
      "refs: also, rule",
      "refs: deferred, trigger",
    ];
    expect(await found()).toEqual(told);

    await trigger("for_updates", 'after update or delete on "Items"');
    await trigger("truncated", "after truncate on refs", "statement");
    await trigger("of_a_view", "instead of insert on shown");
    await trigger("elsewhere", "after insert on there.refs");
    await run("create rule never as on delete to refs do instead nothing");
    expect(await found()).toEqual(told);
  });

  test("disabled ones aren't listed", async () => {
    await trigger("for_rows", 'after insert or update on "Items"');
    await trigger("own", "after insert on refs");
    await run("create rule also as on insert to refs do also delete from there.refs");
    await run('alter table "Items" disable trigger user');
    await run("alter table refs disable trigger user, disable rule also");
    expect(await found()).toEqual([]);
    await run('alter table "Items" enable always trigger for_rows');
    expect(await found()).toEqual(["Items: for_rows, trigger"]);
  });

  test("a partition's triggers are listed once, with its table", async () => {
    await trigger("on_parts", "after insert on parts");
    await trigger("on_part", "before insert on there.part");
    expect(await found()).toEqual(["parts: on_part, trigger", "parts: on_parts, trigger"]);
  });
});
