import { type Database, type DialectSource, json, primaryKey, reference, timestamp } from "../../../database/index.ts";

/** A test of a dialect, on a database with the empty tables from {@link createRows}. */
export interface DialectTest {
  readonly title: string;
  /** Whether callers may only wait briefly for a connection. */
  readonly isImpatient?: boolean;
  /** @param source creates the dialect, for a second connection to the same database */
  readonly run: (database: Database, source: DialectSource) => Promise<void>;
}

/** How many statements a transaction runs to give another transaction time to catch up. */
export const STATEMENTS_OF_A_WAIT = 100;

/** A number of transactions larger than the dialect's number of connections. */
export const MANY = 40;

/** The table that most tests use. */
export const ROWS = "suite_rows";
/** A table that refers to it. */
export const NOTES = "suite_notes";

/** Creates the tests' tables. */
export async function createRows({ kysely }: Database): Promise<void> {
  await kysely.schema
    .createTable(ROWS)
    .$call(primaryKey(kysely))
    .addColumn("name", "varchar(255)", (column) => column.notNull().unique())
    .addColumn("amount", reference(kysely), (column) => column.notNull().defaultTo(0))
    .addColumn("at", timestamp(kysely))
    .addColumn("data", json(kysely))
    .execute();
  await kysely.schema
    .createTable(NOTES)
    .$call(primaryKey(kysely))
    .addColumn("row_id", reference(kysely), (column) => column.notNull().references(`${ROWS}.id`))
    .execute();
}

/** Inserts a row and returns its key. */
export async function insert(database: Database, name: string, others: object = {}): Promise<number> {
  const query = { table: ROWS, values: { name, ...others }, returning: ["id"] };
  const [row] = await database.connection().writes.insert(query)({});
  return Number(row?.id);
}

/** The names of the rows, in the order of their keys. */
export async function names({ kysely }: Database): Promise<readonly string[]> {
  const rows = await kysely.selectFrom(ROWS).select("name").orderBy("id").execute();
  return rows.map(({ name }) => String(name));
}

/** The amount in the row with a name. */
export async function amountOf({ kysely }: Database, name: string): Promise<number> {
  const { amount } = await kysely.selectFrom(ROWS).select("amount").where("name", "=", name).executeTakeFirstOrThrow();
  return Number(amount);
}

/** A promise's rejection reason; `null` if it doesn't reject. */
export function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  );
}

/** Calls a function many times concurrently. */
export function atOnce<T>(count: number, task: (index: number) => Promise<T>): Promise<PromiseSettledResult<T>[]> {
  return Promise.allSettled(Array.from({ length: count }, (_, index) => task(index)));
}
