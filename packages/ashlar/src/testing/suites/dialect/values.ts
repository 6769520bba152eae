import assert from "node:assert/strict";
import { longText, sql } from "../../../database/index.ts";
import { type AshlarError, now } from "../../../support/index.ts";
import { type DialectTest, failureOf, insert, names, ROWS } from "./dialect-test.ts";

const DAY_MS = 86_400_000;

/** Texts that must all be different, even in a unique column. */
const TEXTS = [
  "",
  " ",
  "a",
  "A",
  "ä",
  "a\u0308",
  "a ",
  "'; drop table x; --",
  "\"'`\\",
  "%_",
  "漢字 🔑",
  "1\n2\r\n3",
  "?1 $1",
];

export const VALUES: readonly DialectTest[] = [
  {
    title: "text comes back as it was stored, and compares byte by byte",
    async run(database) {
      for (const text of TEXTS) await insert(database, text);
      assert.deepEqual(await names(database), TEXTS);
      const { kysely } = database;
      for (const text of TEXTS) {
        const found = await kysely.selectFrom(ROWS).select("name").where("name", "=", text).execute();
        assert.deepEqual(
          found.map(({ name }) => name),
          [text],
        );
      }
    },
  },
  {
    title: "a number equals text only if the text is exactly its digits",
    async run(database) {
      for (const name of ["a", "0a", "7"]) await insert(database, name, { amount: 7 });
      const found = async (column: string, value: unknown): Promise<readonly unknown[]> => {
        const rows = await database.kysely.selectFrom(ROWS).select("name").where(column, "=", value).execute();
        return rows.map(({ name }) => name);
      };
      assert.deepEqual(await found("name", 0), []);
      assert.deepEqual(await found("name", 7), ["7"]);
      // The database may also refuse the comparison.
      const failure = await failureOf(found("amount", "7a").then((names) => assert.deepEqual(names, [])));
      if (failure !== null) assert.equal((failure as AshlarError).code, "E_INVALID_INPUT", `it threw ${failure}`);
      const { sql: text } = database.kysely.selectFrom(ROWS).selectAll().where("amount", "=", 7).compile();
      assert.equal(await database.connection().first(text, "7a"), undefined);
    },
  },
  {
    title: "text that can't be stored exactly is refused",
    async run(database) {
      for (const text of ["a\u0000b", "\ud800"]) {
        const failure = await failureOf(insert(database, text));
        if (failure !== null) assert.equal((failure as AshlarError).code, "E_INVALID_INPUT", `it threw ${failure}`);
        assert.deepEqual(await names(database), failure === null ? [text] : []);
        await database.kysely.deleteFrom(ROWS).execute();
      }
    },
  },
  {
    title: "a column for long text holds a million bytes",
    async run(database) {
      const { kysely } = database;
      await kysely.schema.createTable("suite_texts").addColumn("text", longText(kysely)).execute();
      const text = "ä".repeat(500_000);
      await kysely.insertInto("suite_texts").values({ text }).execute();
      assert.equal((await kysely.selectFrom("suite_texts").select("text").executeTakeFirstOrThrow()).text, text);
    },
  },
  {
    title: "integers come back exactly, as bigints if a number could not hold them",
    async run(database) {
      const { kysely } = database;
      const largest = 2n ** 63n - 1n;
      const integers = [0, -1, 2 ** 31, Number.MAX_SAFE_INTEGER, largest, -largest - 1n];
      for (const [index, amount] of integers.entries()) await insert(database, `row ${index}`, { amount });
      const rows = await kysely.selectFrom(ROWS).select("amount").orderBy("id").execute();
      assert.deepEqual(
        rows.map(({ amount }) => amount),
        integers,
      );
    },
  },
  {
    title: "times keep their milliseconds, and NULL is null",
    async run(database) {
      const { kysely } = database;
      const at = new Date("2026-02-28T23:59:59.987Z");
      await insert(database, "a", { at });
      await insert(database, "b", { at: null });
      const [a, b] = await kysely.selectFrom(ROWS).select("at").orderBy("id").execute();
      assert.equal(new Date(a!.at as string).getTime(), at.getTime());
      assert.equal(b!.at, null);
      const before = kysely
        .selectFrom(ROWS)
        .select("name")
        .where("at", "<", new Date(at.getTime() + 1));
      assert.deepEqual(
        (await before.execute()).map(({ name }) => name),
        ["a"],
      );
    },
  },
  {
    title: "JSON comes back parsed or as text, as the dialect declares",
    async run(database) {
      const data = { list: [1, "ä", null], nested: { yes: true } };
      await insert(database, "a", { data: JSON.stringify(data) });
      const row = await database.kysely.selectFrom(ROWS).select("data").executeTakeFirstOrThrow();
      assert.equal(typeof row.data, database.dialect.values.parsesJson ? "object" : "string");
      assert.deepEqual(database.dialect.values.parsesJson ? row.data : JSON.parse(String(row.data)), data);
    },
  },
  {
    title: "keys count up, and are never used twice",
    async run(database) {
      const first = await insert(database, "a");
      await failureOf(
        database.transaction(async () => {
          await insert(database, "b");
          throw new Error("The transaction is to be rolled back.");
        }),
      );
      const third = await insert(database, "c");
      assert.ok(third > first + 1, `after a rollback of key ${first + 1} came ${third}`);
      await database.kysely.deleteFrom(ROWS).where("id", "=", third).execute();
      const fourth = await insert(database, "d");
      assert.ok(fourth > third, `after a deletion of key ${third} came ${fourth}`);
    },
  },
  {
    title: "the server's time, if there is one, is the same throughout a statement",
    async run({ kysely, dialect }) {
      const { serverTime } = dialect.values;
      if (serverTime === null) return;
      const { rows } = await sql<Times>`select ${serverTime} as a, ${serverTime} as b`.execute(kysely);
      const { a, b } = rows[0]!;
      assert.ok(Number.isSafeInteger(a), `the server's time is ${a}`);
      assert.equal(a, b);
      assert.ok(Math.abs(a - now()) < DAY_MS, `the server's time is ${new Date(a)}`);
    },
  },
];

interface Times {
  readonly a: number;
  readonly b: number;
}
