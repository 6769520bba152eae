import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import { DatabaseProvider, Model } from "../../src/database/index.ts";
import { Route } from "../../src/routing/index.ts";
import { ViewProvider } from "../../src/views/index.ts";
import { type AtEnd, buildApplication, ownDatabases } from "../support/build-application.ts";
import { onEachDatabase } from "../support/services.ts";
import { makeFolder } from "../support/temporary-folder.ts";

/** Columns with each database's extreme values: the type, and the values as SQL. */
const COLUMNS: Readonly<Record<string, readonly (readonly [type: string, ...values: string[]])[]>> = {
  sqlite: [
    ["integer", "null", "0", "-1", "9007199254740991", "9007199254740993", "-9223372036854775808"],
    ["real", "null", "1.5", "9e999", "-9e999", "1e-320"],
    ["text", "null", "''", "'<b>&'", "'a' || char(0) || 'b'", "'😀'"],
    ["blob", "null", "x''", "x'00ff80'"],
    ["any", "'1'", "1", "x'01'"],
  ],
  postgres: [
    ["bigint", "null", "9007199254740993", "-9223372036854775808"],
    ["numeric", "null", "'NaN'", "'Infinity'", "12345678901234567890.123456789"],
    ["double precision", "'NaN'", "'Infinity'", "'-Infinity'", "1.5"],
    ["boolean", "null", "true", "false"],
    ["text", "null", "''", "'<b>&'", "'😀'"],
    ["bytea", "null", "''", "'\\x00ff80'"],
    ["date", "null", "'infinity'", "'2026-11-28'", "'0044-03-15 BC'"],
    ["timestamptz", "null", "'infinity'", "'-infinity'", "now()", "'294276-01-01 00:00:00+00'"],
    ["timestamp", "'infinity'", "now()"],
    ["time", "'24:00:00'"],
    ["interval", "null", "'1 year 2 days 3 seconds'", "'-1 day'"],
    ["json", "null", "'null'", "'{\"a\":[1,null]}'", "'[1e400]'", '\'{"__proto__":1,"toString":2,"toJSON":3}\''],
    ["jsonb", "null", "'null'", "'[]'", "'\"text\"'", "'{\"rule\":1}'", "'{\"minutes\":null}'", '\'{"seconds":"x"}\''],
    ["uuid", "null", "gen_random_uuid()"],
    ["integer[]", "null", "'{}'", "'{1,NULL,3}'", "'{{1},{2}}'"],
    ["text[]", "'{\"a\",NULL}'"],
    ["timestamptz[]", "'{infinity}'"],
    ["point", "null", "'(1,2)'"],
    ["circle", "'<(1,2),3>'"],
    ["int4range", "null", "'[1,5)'", "'empty'"],
    ["inet", "'10.0.0.1/8'"],
    ["money", "'12.34'"],
    ["bit(3)", "'101'"],
    ["xml", "'<a/>'"],
    ["tsvector", "'a b'"],
  ],
  mariadb: [
    ["bigint", "null", "9007199254740993", "-9223372036854775808"],
    ["bigint unsigned", "18446744073709551615"],
    ["decimal(65,30)", "null", "12345678901234567890.123456789"],
    ["double", "null", "1.5", "1e308"],
    ["boolean", "null", "true", "false"],
    ["bit(1)", "null", "b'1'"],
    ["bit(16)", "b'101'"],
    ["text", "null", "''", "'<b>&'", "'😀'"],
    ["blob", "null", "''", "x'00ff80'"],
    ["date", "null", "'2026-11-28'", "'9999-12-31'"],
    ["datetime(6)", "null", "'2026-11-28 10:00:00.123456'"],
    ["timestamp(6) null", "null", "'2026-11-28 10:00:00.123456'"],
    ["time", "'838:59:59'", "'-838:59:59'"],
    ["year", "null", "2026"],
    ["json", "null", "'null'", "'{\"a\":[1,null]}'", '\'{"__proto__":1,"toString":2,"toJSON":3}\''],
    ["enum('a','b')", "null", "'a'"],
    ["set('a','b')", "''", "'a,b'"],
    ["point", "null", "ST_GeomFromText('POINT(1 2)')"],
    ["geometrycollection", "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2))')"],
    ["uuid", "null", "uuid()"],
    ["inet6", "'::1'"],
  ],
};

class Plain extends Model {
  static override table = "everything";
  static override timestamps = false;
}

/** Sentences with a value as a parameter, and as the number that selects a plural form. */
const MESSAGES = `export const MESSAGES = {
  "app.value": "value: {value}.",
  "app.count": { one: "{count} file", other: "{count} files" },
};
`;

const VALUE_PAGE = `<p title="{{ row.value }}">{{ row.value }}</p>{{ t("app.value", { value: row.value }) }}`;

await onEachDatabase("any value of any column", (engine) => {
  let application: Application;
  const ends: (() => Promise<void>)[] = [];
  const first = async () => (await Plain.all())[0] as unknown as { readonly value: unknown };

  beforeAll(async () => {
    const atEnd: AtEnd = (end) => void ends.unshift(end);
    const { folder, remove } = makeFolder({ "lang/en.ts": MESSAGES, "views/value.edge": VALUE_PAGE });
    atEnd(async () => remove());
    application = await buildApplication({
      root: folder,
      providers: [DatabaseProvider, ViewProvider],
      databases: await ownDatabases({ engine, atEnd }),
      models: [Plain],
      atEnd,
      routes: [
        Route.get("/json", () => Plain.all()),
        Route.get("/page", async ({ view }) => view.render("value", { row: await first() })),
        Route.get("/sentences", async ({ t }) => {
          const say = t as unknown as (key: string, params: object) => string;
          const { value } = await first();
          return [say("app.value", { value }), say("app.count", { count: value })];
        }),
      ],
    });
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  test.each(COLUMNS[engine.name]!)("of type %s produces a page, a sentence and JSON", async (type, ...values) => {
    const { kysely } = application.container.make("database");
    for (const value of values) {
      await sql.raw("drop table if exists everything").execute(kysely);
      await sql.raw(`create table everything (id integer primary key, value ${type})`).execute(kysely);
      await sql.raw(`insert into everything (id, value) values (1, ${value})`).execute(kysely);
      for (const path of ["/json", "/page", "/sentences"]) {
        const response = await application.fetch(new Request(`http://localhost${path}`));
        const text = await response.text();
        expect([path, value, response.status, response.status === 200 ? null : text]).toEqual([path, value, 200, null]);
      }
    }
  });
});
